"""Raw Bronze (`source.raw`): what must hold so that the archive keeps every record as it came."""

from __future__ import annotations

from collections.abc import Iterator

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import Problem

PAYLOAD = "raw_payload"
# The columns that a raw table has beside the payload's own fields and the lineage, in this order.
RAW_COLUMNS = (
    PAYLOAD,
    "source_system",
    "source_topic",
    "ingestion_timestamp",
    "pipeline_version",
    "schema_version",
    "checksum",
)
APPEND_ONLY = "delta.appendOnly"
MISFIT = "LL167"


def check_raw(contract: Contract) -> Iterator[Problem]:
    """Mistakes in contracts that keep payloads: whatever would change, leave out or hide a part of the archive."""
    if not contract.is_raw:
        return
    yield from _source_fits(contract)
    yield from _fields_fit(contract)
    yield from _target_fits(contract)


def _source_fits(contract: Contract) -> Iterator[Problem]:
    source = contract.source
    assert source is not None
    if source.columns == "all":
        hint = "take it away; declare under model.fields what is to stand in columns of its own"
        yield Problem(MISFIT, "`raw` keeps the whole record as it is", contract.at("source.columns"), hint)
    if source.load_mode == "cdc" or source.cdc is not None:
        path = "source.cdc" if source.cdc is not None else "source.load_mode"
        hint = "keep the events here, and apply them in a contract that reads this table"
        yield Problem(MISFIT, "`raw` applies no change events", contract.at(path), hint)
    if contract.schema_policy.unknown_fields in ("quarantine", "fail"):
        message = f"`raw` rejects nothing, so `unknown_fields: {contract.schema_policy.unknown_fields}` cannot hold"
        yield Problem(MISFIT, message, contract.at("schema_policy"), "set it where the table is read")


def _fields_fit(contract: Contract) -> Iterator[Problem]:
    for index, field in enumerate(contract.fields):
        if field.name in RAW_COLUMNS:
            place = contract.at(f"model.fields.{index}.name")
            yield Problem(MISFIT, f"`raw` makes the column `{field.name}` itself", place, "take the field away")
        if field.masking is not None:
            place = contract.at(f"model.fields.{index}.masking")
            message = f"`{field.name}` would be masked beside a payload that shows it"
            yield Problem(MISFIT, message, place, "mask it in the contract that reads this table, and guard this one")


def _target_fits(contract: Contract) -> Iterator[Problem]:
    target = contract.materialization
    if target is None:
        return
    hint = "use `append`; what is derived from raw Bronze is replaced, never raw Bronze itself"
    if target.strategy != "append":
        message = f"raw Bronze is append-only, and strategy `{target.strategy}` changes or replaces rows"
        yield Problem(MISFIT, message, contract.at("materialization.strategy"), hint)
    if target.reprocess is not None:
        message = "raw Bronze is append-only, and `reprocess` is about replacing rows"
        hint = "take it away; windows of raw Bronze read the files of their days that were not read yet"
        yield Problem(MISFIT, message, contract.at("materialization.reprocess"), hint)
    if target.format == "parquet":
        message = "raw Bronze is append-only, and plain Parquet cannot refuse other writers"
        yield Problem(MISFIT, message, contract.at("materialization.format"), "use format delta")
    if str(target.table_properties.get(APPEND_ONLY, "true")).lower() != "true":
        place = contract.at(f"materialization.table_properties.{APPEND_ONLY}")
        yield Problem(MISFIT, f"raw Bronze is append-only, and `{APPEND_ONLY}` is off", place, "take the property away")
