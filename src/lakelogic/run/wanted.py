"""The tables that a contract wants, told without reading a row and without an engine."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import LakeLogicError, PlanError
from lakelogic.core.settings import Settings
from lakelogic.plan.build import build_plan, explain_plan
from lakelogic.plan.model import Column, Plan, SourceFacts
from lakelogic.plan.table_facts import KEY_PROPERTY, TableFacts
from lakelogic.run.places import Places
from lakelogic.run.reading import locate_links
from lakelogic.run.shapes import quarantine_shape, target_shape
from lakelogic.source.files import list_files
from lakelogic.source.tables import is_delta_table
from lakelogic.table.facts import facts_of, find_facts
from lakelogic.table.parquet_types import parquet_columns

KEYED_STRATEGIES = ("merge", "scd2", "cdc")
_TYPED_FORMATS = ("parquet", "delta", "orc", "avro")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Both tables; the quarantine is None where only a run can tell its columns."""

    target: TableFacts
    quarantine: TableFacts | None
    closed: bool  # the contract names all columns of the target
    keyed: bool  # rows are found again by their key
    notes: tuple[str, ...] = ()


def wanted_tables(contract: Contract, settings: Settings, places: Places) -> Wanted:
    """What a run would create: the same plan gives the same columns."""
    assert contract.materialization is not None
    plan, looked = _plan(contract, settings, places)
    target = facts_of(target_shape(contract, plan.output))
    keyed = contract.materialization.strategy in KEYED_STRATEGIES
    if keyed:
        properties = {**target.properties, KEY_PROPERTY: ",".join(contract.primary_key)}
        target = replace(target, properties=properties)
    closed = bool(contract.fields) and not (contract.source is not None and contract.source.columns == "all")
    if not looked and _is_typed(contract, places):
        note = "the quarantine is left to the first run: its columns have the types of the source, which is not there"
        return Wanted(target, None, closed, keyed, (note,))
    quarantine = facts_of(quarantine_shape(contract, plan.stages[-1].quarantine_columns))
    return Wanted(target, quarantine, closed, keyed)


def _plan(contract: Contract, settings: Settings, places: Places) -> tuple[Plan, bool]:
    """The plan, and whether the source was looked at."""
    links = _known_links(contract, settings)
    facts = _source_facts(contract, places)
    if facts is not None:
        try:
            return build_plan(contract, facts, links, has_key=True), True
        except PlanError:
            # The source does not fit the contract yet; the tables can be made before it does.
            pass
    return explain_plan(contract, links=links), False


def _source_facts(contract: Contract, places: Places) -> SourceFacts | None:
    """Columns of a typed source, where its schema can be read without an engine."""
    path = places.source
    if path is None:
        return None
    declared = contract.source.format if contract.source else None
    try:
        if declared == "delta" or (declared is None and is_delta_table(path)):
            facts = find_facts(path)
            return SourceFacts(facts.columns, text=False) if facts is not None else None
        files = list_files(path, pattern=contract.source.pattern if contract.source else None)
        if files and (declared or files[0].path.rsplit(".", 1)[-1]) == "parquet":
            return SourceFacts(parquet_columns(files[0].path), text=False)
    except (LakeLogicError, OSError):
        # It is not there yet, or cannot be opened; a run will say so.
        return None
    return None


def _is_typed(contract: Contract, places: Places) -> bool:
    declared = contract.source.format if contract.source else None
    if declared is not None:
        return declared in _TYPED_FORMATS
    path, pattern = places.source or "", (contract.source.pattern if contract.source else None) or ""
    return is_delta_table(path) or path.endswith(_TYPED_FORMATS) or pattern.endswith(_TYPED_FORMATS)


def _known_links(contract: Contract, settings: Settings) -> dict[str, tuple[Column, ...]]:
    try:
        located = locate_links(contract, settings)
    except (LakeLogicError, OSError):
        return {}
    known = {}
    for link in located:
        facts = find_facts(link.path) if link.format == "delta" else None
        if facts is not None:
            chosen = link.columns
            known[link.name] = tuple(c for c in facts.columns if not chosen or c.name in chosen)
    return known
