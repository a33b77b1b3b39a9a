"""Drift: how the source differs from what the contract declares, told as events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lakelogic.contract.contract import Contract
from lakelogic.contract.model import ModelField
from lakelogic.core.events import Event
from lakelogic.plan.model import Column, SourceFacts
from lakelogic.plan.relation import suggestion
from lakelogic.plan.types import family, parse_type, type_name, widens


def find_drift(
    contract: Contract, facts: SourceFacts, missing: Sequence[ModelField], unknown: Sequence[str]
) -> tuple[Event, ...]:
    """Everything that is not as declared; what is refused has been raised before."""
    return (
        *_missing(contract, missing, unknown),
        *_unknown(contract, unknown),
        *(() if facts.text else _changed_types(contract, facts.columns)),
    )


def _missing(contract: Contract, missing: Sequence[ModelField], unknown: Sequence[str]) -> Iterator[Event]:
    for field in missing:
        near = suggestion(field.name, unknown)
        filled = "its default" if field.default is not None else "NULL"
        if near is not None:
            yield Event(
                "suspected_rename",
                f"Column `{field.name}` is not in the source, which has `{near}`: was it renamed? It is {filled} in "
                f"every row; add `aliases: [{near}]` to the field",
                "warning",
                {"declared": field.name, "found": near},
            )
        else:
            yield Event(
                "missing_column",
                f"Column `{field.name}` is not in the source; it is {filled} in every row",
                "warning",
                {"column": field.name, "type": field.type},
            )


def _unknown(contract: Contract, unknown: Sequence[str]) -> Iterator[Event]:
    if not unknown:
        return
    names = ", ".join(f"`{name}`" for name in unknown)
    keeps = contract.source is not None and contract.source.columns == "all"
    match contract.schema_policy.unknown_fields:
        case "quarantine":
            became = "quarantined"
        case "allow" if keeps:
            became = "kept"
        case _:
            became = "not read"
    yield Event(
        "unknown_columns",
        f"The source has columns that the contract does not declare ({became}): {names}",
        "warning" if became == "quarantined" else "info",
        {"columns": list(unknown), "became": became},
    )


def _changed_types(contract: Contract, columns: Sequence[Column]) -> Iterator[Event]:
    """Text is there to be cast; of other types one expects that they are the declared ones, or narrower."""
    by_name = {c.name: c for c in columns}
    for field in contract.fields:
        found = next((by_name[name] for name in (field.name, *field.aliases) if name in by_name), None)
        wanted = parse_type(field.type)
        if found is None or wanted is None or family(found.type) in {"text", "unknown"}:
            continue
        if not widens(found.type, wanted) and family(wanted) != "unknown":
            yield Event(
                "changed_type",
                f"Column `{found.name}` is {type_name(found.type)} in the source, {field.type} in the contract",
                "warning",
                {"column": field.name, "found": type_name(found.type), "declared": field.type},
            )
