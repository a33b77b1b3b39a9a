"""What must hold between the parts of a contract, once each part is well formed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from zoneinfo import available_timezones

from lakelogic.contract.bucket_credentials import check_credentials
from lakelogic.contract.change_events import check_change_events
from lakelogic.contract.contract import Contract
from lakelogic.contract.database import check_database
from lakelogic.contract.mistakes import suggest
from lakelogic.contract.raw import RAW_COLUMNS, check_raw
from lakelogic.contract.row_rules import LifecycleWindow, Range, ReferentialIntegrity
from lakelogic.contract.source import Source
from lakelogic.contract.transformations import Bucket, Join, Lookup, Union
from lakelogic.contract.watermarks import check_watermark
from lakelogic.core.errors import Problem
from lakelogic.core.secrets import reveal
from lakelogic.core.spark_settings import HELD

_NEEDS_KEY = frozenset({"merge", "scd2", "cdc"})


def check_contract(contract: Contract) -> Iterator[Problem]:
    """All mistakes that show only when parts are seen together."""
    checks = (
        _names_are_unique, _key_is_agreed, _key_is_there, _columns_are_declared, _links_are_declared,
        _links_have_a_place, _limits_are_in_order, _source_is_complete, _bins_have_limits, _masking_fits,
        _overwrite_fits, _reconcile_fits,
        _merge_agrees, check_change_events, check_watermark, check_database, check_raw,
        _history_is_declared, _credentials_are_sound, _spark_is_ours_where_it_must_be,
    )  # fmt: skip
    return chain.from_iterable(check(contract) for check in checks)


def _credentials_are_sound(contract: Contract) -> Iterator[Problem]:
    for path, message, hint in check_credentials(contract.credentials):
        yield Problem("LL160", message, contract.at(path), hint)


def _spark_is_ours_where_it_must_be(contract: Contract) -> Iterator[Problem]:
    for name, value in contract.spark.items():
        held = HELD.get(name)
        if held is not None and str(reveal(value)).lower() != held.lower():
            message = f"`{name}` is always `{held}`: with another value the same contract would give other rows"
            yield Problem("LL189", message, contract.at(f"spark.{name}"), "leave it out")


def _names_are_unique(contract: Contract) -> Iterator[Problem]:
    rules = contract.quality.row_rules
    lists: tuple[tuple[str, str, Iterable[str | None]], ...] = (
        ("model.fields", "field", (field.name for field in contract.fields)),
        ("quality.row_rules", "row rule", (rule.name for rule in rules)),
        ("quality.dataset_rules", "dataset rule", (rule.name for rule in contract.quality.dataset_rules)),
        ("links", "link", (link.name for link in contract.links)),
    )
    for path, noun, names in lists:
        seen: dict[str, int] = {}
        for index, name in enumerate(names):
            if name is not None and name.lower() in seen:
                first = contract.at(f"{path}.{seen[name.lower()]}.name")
                place = contract.at(f"{path}.{index}.name")
                hint = f"the other stands on line {first.line}; SQL does not tell upper case from lower"
                yield Problem("LL150", f"two {noun}s are called `{name}`", place, hint)
            elif name is not None:
                seen[name.lower()] = index


def _key_is_agreed(contract: Contract) -> Iterator[Problem]:
    flagged = tuple(field.name for field in contract.fields if field.primary_key)
    materialization = contract.materialization
    others = (
        ("model.primary_key", contract.model.primary_key),
        ("materialization.primary_key", materialization.primary_key if materialization else ()),
    )
    for path, declared in others:
        if declared and declared != contract.primary_key:
            yield _disagreement(contract, path, declared)
    if flagged and set(flagged) != set(contract.primary_key):
        index = next(number for number, field in enumerate(contract.fields) if field.primary_key)
        yield _disagreement(contract, f"model.fields.{index}.primary_key", flagged)


def _disagreement(contract: Contract, path: str, declared: tuple[str, ...]) -> Problem:
    key = ", ".join(contract.primary_key)
    hint = f"elsewhere the key is [{key}] ({contract.origin('primary_key')}); declare it once"
    return Problem("LL151", f"the primary key is also declared as [{', '.join(declared)}]", contract.at(path), hint)


def _key_is_there(contract: Contract) -> Iterator[Problem]:
    materialization = contract.materialization
    if materialization and materialization.strategy in _NEEDS_KEY and not contract.primary_key:
        message = f"strategy `{materialization.strategy}` needs a primary key"
        hint = "list the key columns under materialization.primary_key"
        yield Problem("LL152", message, contract.at("materialization.strategy"), hint)
    for name, count in Counter(contract.primary_key).items():
        if count > 1:
            yield Problem("LL151", f"`{name}` stands twice in the primary key", contract.at("primary_key"))


def _columns_are_declared(contract: Contract) -> Iterator[Problem]:
    # Steps may make columns, and an open model lets others through: the plan, which knows both, checks those.
    closed = contract.schema_policy.unknown_fields != "allow" and not contract.transformations
    if not (closed and contract.fields and contract.materialization):
        return
    known = [field.name for field in contract.fields]
    target = contract.materialization
    added = {target.snapshot.date_column} if target.strategy == "snapshot" else set()
    added |= set(RAW_COLUMNS) if contract.is_raw else set()
    lists = {
        "primary_key": contract.primary_key,
        "materialization.partition_by": target.partition_by,
        "materialization.cluster_by": target.cluster_by,
        "materialization.scd2.track_columns": target.scd2.track_columns if target.scd2 else (),
    }
    for path, names in lists.items():
        for index, name in enumerate(names):
            if name not in known and not name.startswith("_lakelogic_") and name not in added:
                message = f"`{path.rsplit('.', 1)[-1]}` names `{name}`, which is not a field of the model"
                yield Problem("LL153", message, contract.at(f"{path}.{index}"), suggest(name, known))


def _references(contract: Contract) -> Iterator[tuple[str, str]]:
    for step in contract.transformations:
        if isinstance(step, Lookup | Join):
            yield f"{step.path}.{step.kind}.reference", step.reference
        if isinstance(step, Union):
            yield from ((f"{step.path}.union.{index}", name) for index, name in enumerate(step.links))
    for rule in contract.quality.row_rules:
        if isinstance(rule, ReferentialIntegrity | LifecycleWindow):
            yield f"{rule.path}.{rule.kind}.reference", rule.reference
    for index, field in enumerate(contract.fields):
        if field.foreign_key:
            yield f"model.fields.{index}.foreign_key.reference", field.foreign_key.reference


def _links_are_declared(contract: Contract) -> Iterator[Problem]:
    known = [link.name for link in contract.links]
    for path, name in _references(contract):
        if name not in known:
            hint = suggest(name, known) if known else f"add `links: [{{ name: {name}, path: ... }}]`"
            yield Problem("LL154", f"there is no link `{name}`", contract.at(path), hint)


def _links_have_a_place(contract: Contract) -> Iterator[Problem]:
    for index, link in enumerate(contract.links):
        if (link.path is None) == (link.dataset is None):
            message = f"the link `{link.name}` needs either `path` or `dataset`"
            yield Problem("LL155", message, contract.at(f"links.{index}"), "say where its rows are: `path: ...`")
        if link.name.lower() in {"source", "accepted", "rejected"}:
            message = f"a link cannot be called `{link.name}`"
            yield Problem("LL155", message, contract.at(f"links.{index}.name"), "this name is a relation of ours")


def _limits_are_in_order(contract: Contract) -> Iterator[Problem]:
    limits: list[tuple[str, object, object]] = []
    for index, field in enumerate(contract.fields):
        limits.append((f"model.fields.{index}.min", field.min, field.max))
        limits.append((f"model.fields.{index}.min_length", field.min_length, field.max_length))
    for rule in contract.quality.row_rules:
        if isinstance(rule, Range):
            limits.append((f"{rule.path}.range.min", rule.min, rule.max))
    for dataset_rule in contract.quality.dataset_rules:
        if dataset_rule.kind == "row_count_between":
            limits.append((f"{dataset_rule.path}.row_count_between.min", dataset_rule.min, dataset_rule.max))
        if dataset_rule.kind == "sql" and dataset_rule.must_be_between:
            limits.append((f"{dataset_rule.path}.must_be_between", *dataset_rule.must_be_between))
    for path, low, high in limits:
        if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
            message = "the lower limit is above the upper one"
            yield Problem("LL156", message, contract.at(path), "no value can pass; exchange the two")
    yield from _ranges_have_limits(contract)


def _ranges_have_limits(contract: Contract) -> Iterator[Problem]:
    for rule in chain(contract.quality.row_rules, contract.quality.dataset_rules):
        if rule.kind in ("range", "row_count_between") and rule.min is None and rule.max is None:
            message = f"`{rule.kind}` has neither `min` nor `max`"
            yield Problem("LL156", message, contract.at(f"{rule.path}.{rule.kind}"), "add one of them")


def _source_is_complete(contract: Contract) -> Iterator[Problem]:
    source = contract.source
    if source is None:
        return
    if source.path is None and source.type in ("file", "table"):
        yield Problem("LL111", "`path` is missing in `source`", contract.at("source"), "add `path: ...`")
    yield from _topic_is_complete(contract, source)
    for key in ("settle", "success_marker"):
        if getattr(source, key) and (source.type != "file" or source.format == "delta"):
            what = "table" if source.format == "delta" else source.type
            message = f"`{key}` is for files that are being uploaded, and the source is a {what}"
            yield Problem("LL157", message, contract.at(f"source.{key}"), "take it away")
    if source.success_marker and "/" in source.success_marker:
        message = "`success_marker` is the name of a file in the folder of the data, not a path"
        yield Problem("LL157", message, contract.at("source.success_marker"), "write `_SUCCESS` or `{name}.done`")
    if source.load_mode == "full":
        return
    wanted = {"file_mtime": "file", "delta_version": "table"}.get(source.watermark_strategy)
    if wanted and source.type != wanted:
        message = f"`{source.watermark_strategy}` works on a {wanted}, and the source is a {source.type}"
        yield Problem("LL157", message, contract.at("source.watermark_strategy"), "use `pipeline_log`")


def _topic_is_complete(contract: Contract, source: Source) -> Iterator[Problem]:
    hint = "add `kafka: { bootstrap_servers: ..., topic: ... }`"
    if source.type == "kafka" and source.kafka is None:
        yield Problem("LL111", "`kafka` is missing in `source`", contract.at("source"), hint)
    if source.type != "kafka" and source.kafka is not None:
        message = f"`source.kafka` names a topic, and the source is a {source.type}"
        yield Problem("LL157", message, contract.at("source.kafka"), "set `type: kafka`, or take it away")
    if source.type == "kafka":
        for key in ("path", "pattern", "format", "options"):
            if getattr(source, key):
                place = contract.at(f"source.{key}")
                yield Problem("LL157", f"a topic has no `{key}`", place, f"take it away; {hint.removeprefix('add ')}")


def _bins_have_limits(contract: Contract) -> Iterator[Problem]:
    for step in contract.transformations:
        for index, band in enumerate(step.bins if isinstance(step, Bucket) else ()):
            if all(limit is None for limit in (band.lt, band.lte, band.gt, band.gte)):
                place = contract.at(f"{step.path}.bucket.bins.{index}")
                hint = "add `lt`, `lte`, `gt` or `gte`; `default` names all other values"
                yield Problem("LL156", "this bin has no limit", place, hint)


def _history_is_declared(contract: Contract) -> Iterator[Problem]:
    target = contract.materialization
    if target is None:
        return
    if target.strategy != "scd2":
        if target.scd2 is not None:
            message = f"`scd2` belongs to strategy `scd2`, and the strategy is `{target.strategy}`"
            yield Problem("LL165", message, contract.at("materialization.scd2"), "set `strategy: scd2`")
        return
    if target.scd2 is None or target.scd2.timestamp_field is None:
        hint = "name the column with the time of a change under materialization.scd2.timestamp_field"
        place = contract.at("materialization.strategy")
        yield Problem("LL152", "strategy `scd2` needs a timestamp", place, hint)
    for key in ("order_by", "on_duplicate_key", "update_columns", "insert_only"):
        if getattr(target.merge, key):
            message = f"strategy `scd2` has no use for `merge.{key}`"
            hint = "take it away; rows of a history are ordered by scd2.timestamp_field"
            yield Problem("LL165", message, contract.at(f"materialization.merge.{key}"), hint)


def _masking_fits(contract: Contract) -> Iterator[Problem]:
    for index, field in enumerate(contract.fields):
        if field.masking and field.masking.strategy == "nullify" and field.required:
            place = contract.at(f"model.fields.{index}.masking")
            message = f"`{field.name}` is required, and `nullify` takes its value away"
            yield Problem("LL158", message, place, "choose another masking, or leave out `required`")


def _overwrite_fits(contract: Contract) -> Iterator[Problem]:
    target = contract.materialization
    if target is None:
        return
    if target.strategy == "overwrite_partitions" and not target.partition_by:
        place = contract.at("materialization.strategy")
        hint = "list the partition columns under materialization.partition_by"
        yield Problem("LL159", "strategy `overwrite_partitions` needs partitions", place, hint)
    if target.reprocess and target.strategy == "snapshot":
        message = f"strategy `{target.strategy}` does not replace rows by date"
        place = contract.at("materialization.reprocess")
        yield Problem("LL159", message, place, "take `reprocess` away, or use `append`, `overwrite` or `merge`")
    zone = target.reprocess.timezone if target.reprocess else None
    if zone is not None and zone not in available_timezones():
        place = contract.at("materialization.reprocess.timezone")
        yield Problem("LL159", f"there is no time zone `{zone}`", place, suggest(zone, sorted(available_timezones())))
    only_appends = str(target.table_properties.get("delta.appendOnly", "false")).lower() == "true"
    if only_appends and target.strategy != "append":
        message = f"a table with `delta.appendOnly` takes appends only, and the strategy is `{target.strategy}`"
        yield Problem("LL159", message, contract.at("materialization.strategy"), "use `append`, or drop the property")


def _merge_agrees(contract: Contract) -> Iterator[Problem]:
    if contract.materialization is None:
        return
    merge = contract.materialization.merge
    if merge.on_duplicate_key == "latest" and not merge.order_by:
        message = "`on_duplicate_key: latest` needs an order, or the winner would be random"
        hint = "name a column under materialization.merge.order_by"
        yield Problem("LL152", message, contract.at("materialization.merge.on_duplicate_key"), hint)
    for key in ("update_columns", "delete_when"):
        if merge.insert_only and getattr(merge, key) is not None:
            message = f"`insert_only` leaves rows that are there alone, and `{key}` would change them"
            place = contract.at(f"materialization.merge.{key}")
            yield Problem("LL165", message, place, "take one of the two away")


def _reconcile_fits(contract: Contract) -> Iterator[Problem]:
    target = contract.materialization
    if target is None:
        return
    merge, at = target.merge, contract.at
    if merge.max_delete_ratio is not None and not merge.delete_missing:
        place = at("materialization.merge.max_delete_ratio")
        yield Problem("LL161", "`max_delete_ratio` is a limit of `delete_missing`", place, "add `delete_missing: true`")
    if not merge.delete_missing:
        return
    place = at("materialization.merge.delete_missing")
    if target.strategy != "merge":
        yield Problem("LL161", "`delete_missing` belongs to strategy `merge`", place, "set `strategy: merge`")
    if contract.source is not None and contract.source.load_mode != "full":
        message = "`delete_missing` needs all rows of the source, and the load is not full"
        yield Problem("LL161", message, place, "set `source.load_mode: full`")
    if merge.insert_only:
        yield Problem("LL161", "`insert_only` leaves rows as they are, and `delete_missing` does not", place)
