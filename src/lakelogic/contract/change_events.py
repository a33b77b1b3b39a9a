"""What must hold between a source of change events, the steps its rows go through, and the strategy."""

from __future__ import annotations

from collections.abc import Iterator

from lakelogic.contract.contract import Contract
from lakelogic.contract.source import Cdc
from lakelogic.core.errors import Problem

MISFIT, MISSING = "LL166", "LL152"
# Steps that keep one row for each event. The others would make rows that no event speaks of.
_ROW_BY_ROW = frozenset(
    {
        "sql", "rename", "select", "drop", "cast", "trim", "lower", "upper", "derive", "coalesce", "map_values",
        "filter", "split", "json_extract", "bucket", "date_diff", "lookup",
    }
)  # fmt: skip
_ENVELOPE_FORMATS = ("csv", "text", "xml")


def check_change_events(contract: Contract) -> Iterator[Problem]:
    """Mistakes in contracts that read change events, or want to apply what are none."""
    source, target = contract.source, contract.materialization
    reads = source is not None and (source.load_mode == "cdc" or source.cdc is not None)
    strategy = target.strategy if target is not None else None
    if strategy == "cdc" and not reads:
        hint = "set `source.load_mode: cdc`, and `source.cdc` where the events are no Debezium envelopes"
        yield Problem(MISSING, "strategy `cdc` needs change events", contract.at("materialization.strategy"), hint)
    if target is not None and target.soft_delete is not None and strategy != "cdc":
        place = contract.at("materialization.soft_delete")
        yield Problem(MISFIT, "`soft_delete` is for strategy `cdc`", place, "take it away")
    if not reads or source is None:
        return
    if strategy is not None and strategy not in ("cdc", "scd2"):
        hint = "use strategy `cdc` or `scd2`; with `load_mode: incremental` the events are kept as they are"
        message = f"strategy `{strategy}` does not apply change events"
        yield Problem(MISFIT, message, contract.at("materialization.strategy"), hint)
    cdc = source.cdc or Cdc()
    yield from _source_fits(contract, cdc)
    yield from _steps_fit(contract)
    if strategy == "cdc":
        yield from _target_fits(contract, cdc)


def _source_fits(contract: Contract, cdc: Cdc) -> Iterator[Problem]:
    source = contract.source
    assert source is not None
    place = contract.at("source.cdc")
    for index, term in enumerate(cdc.order_by):
        if term.strip().lower().endswith((" asc", " desc")):
            where = contract.at(f"source.cdc.order_by.{index}")
            yield Problem(MISFIT, f"`{term}`: the greatest position is the newest", where, "leave the direction out")
    if cdc.format == "flat":
        strategy = contract.materialization.strategy if contract.materialization else None
        if strategy == "cdc" and not cdc.order_by:
            hint = "name a column that grows with every change under source.cdc.order_by"
            yield Problem(MISSING, "flat change rows need an order, or a stale one could win", place, hint)
        return
    if not contract.fields:
        hint = "list under model.fields what is to be taken out of `after`"
        yield Problem(MISSING, "Debezium envelopes need declared fields", contract.at("source"), hint)
    if source.format in _ENVELOPE_FORMATS:
        message = f"Debezium envelopes are JSON, and the format is `{source.format}`"
        yield Problem(MISFIT, message, contract.at("source.format"), "use `jsonl`, or `source.cdc: {format: flat}`")
    if contract.schema_policy.unknown_fields == "fail":
        message = "fields inside of envelopes show only in the rows, so that `unknown_fields: fail` comes too late"
        yield Problem(MISFIT, message, contract.at("schema_policy"), "use `quarantine`, `drop` or `allow`")


def _steps_fit(contract: Contract) -> Iterator[Problem]:
    for step in contract.transformations:
        if step.kind not in _ROW_BY_ROW:
            message = f"`{step.kind}` changes which rows there are, and change events need one row each"
            hint = "do it in a contract that reads the target of this one"
            yield Problem(MISFIT, message, contract.at(f"{step.path}.{step.kind}"), hint)


def _target_fits(contract: Contract, cdc: Cdc) -> Iterator[Problem]:
    target = contract.materialization
    assert target is not None
    if target.merge.model_fields_set:
        place = contract.at("materialization.merge")
        yield Problem(MISFIT, "`merge` is for strategy `merge`", place, "source.cdc says how events are applied")
    if target.dq_flags:
        place = contract.at("materialization.dq_flags")
        yield Problem(MISFIT, "an event that failed cannot be flagged: it has no row", place, "take `dq_flags` away")
    soft = target.soft_delete
    if soft is None:
        return
    if cdc.deletes != "soft":
        message = f"`soft_delete` has nothing to mark: source.cdc.deletes is `{cdc.deletes}`"
        yield Problem(MISFIT, message, contract.at("materialization.soft_delete"), "take one of the two away")
    for key in ("column", "time_column", "reason_column"):
        name = getattr(soft, key)
        if name is not None and contract.model.field(name) is not None:
            message = f"`{name}` is a field of the model, and deletes would write over it"
            yield Problem(MISFIT, message, contract.at(f"materialization.soft_delete.{key}"), "name another column")
