"""Tables before rows: CREATE and ALTER for target, quarantine and masked views."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lakelogic.contract.contract import Contract
from lakelogic.core.settings import Settings
from lakelogic.plan.ddl import Change, Refused, diff_table
from lakelogic.plan.ddl_sql import in_order, quote, quote_dotted, render_change
from lakelogic.plan.table_facts import TableFacts
from lakelogic.plan.views import ViewStatements, compile_views
from lakelogic.run.hold import require_target
from lakelogic.run.places import Places, find_places
from lakelogic.run.wanted import Wanted, wanted_tables
from lakelogic.table.facts import find_facts
from lakelogic.table.location import is_catalog_name
from lakelogic.table.protocol import TableLocation


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, and what became of it."""

    table: str  # target | quarantine | the view's name
    sql: str
    applied: bool = False
    change: Change | None = None  # None: a view or a grant


@dataclass(frozen=True, slots=True)
class DdlReport:
    """The statements that lead from the tables to the contract, what is refused, and what to know."""

    dataset: str
    statements: tuple[Statement, ...]
    refused: tuple[tuple[str, Refused], ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "statements": [{"table": s.table, "sql": s.sql, "applied": s.applied} for s in self.statements],
            "refused": [
                {"table": table, "code": r.code, "subject": r.subject, "message": r.message, "hint": r.hint}
                for table, r in self.refused
            ],
            "notes": list(self.notes),
        }

    def to_text(self) -> str:
        lines = [f"{s.sql};" for s in self.statements] or ["-- nothing to change"]
        lines += [f"-- note: {note}" for note in self.notes]
        for table, refused in self.refused:
            lines += [f"-- refused ({table}): {refused.code} {refused.message}", f"--     hint: {refused.hint}"]
        return "\n".join(lines)


def plan_ddl(contract: Contract, settings: Settings, places: Places | None = None) -> DdlReport:
    """Compare the contract with its tables; nothing is changed and no engine is started."""
    places = places or find_places(contract, settings)
    target, quarantine = require_target(contract, places)
    wanted = wanted_tables(contract, settings, places)
    required = [column.name for column in wanted.target.columns if not column.nullable]
    there = find_facts(target.path, count=required)
    statements, refused, notes = _diff("target", target, there, wanted.target, closed=wanted.closed, keyed=wanted.keyed)
    notes = [*wanted.notes, *notes, *_masking_notes(there, wanted)]
    if wanted.quarantine is not None:
        more = _diff("quarantine", quarantine, find_facts(quarantine.path), wanted.quarantine, closed=False)
        # Columns that are only in the quarantine are what earlier sources had.
        statements, refused = statements + more[0], refused + more[1]
    views = _views(contract, wanted, target)
    statements += [Statement(view.name, sql) for view in views for sql in (view.create, *view.grants)]
    notes += [note for view in views for note in view.notes]
    return DdlReport(contract.dataset, tuple(statements), tuple(refused), tuple(notes))


def _diff(
    name: str,
    location: TableLocation,
    there: TableFacts | None,
    wanted: TableFacts,
    *,
    closed: bool,
    keyed: bool = False,
) -> tuple[list[Statement], list[tuple[str, Refused]], list[str]]:
    found = diff_table(there, wanted, closed=closed, keyed=keyed)
    table = table_name(location)
    statements = [Statement(name, render_change(change, table), change=change) for change in in_order(found.changes)]
    return statements, [(name, refused) for refused in found.refused], list(found.notes)


def table_name(location: TableLocation) -> str:
    """A table as SQL names it."""
    return quote_dotted(location.name) if is_catalog_name(location.name) else f"delta.{quote(location.path)}"


def _masking_notes(there: TableFacts | None, wanted: Wanted) -> Iterator[str]:
    masked = [column.name for column in wanted.target.columns if column.masking]
    if there is None and masked:
        yield (
            f"SQL cannot say how {', '.join(masked)} were masked; a table that is made by --apply or by a run keeps it"
        )


def _views(contract: Contract, wanted: Wanted, target: TableLocation) -> tuple[ViewStatements, ...]:
    schema = target.name.rsplit(".", 1)[0] if is_catalog_name(target.name) else None
    return compile_views(contract, wanted.target.columns, table_name(target), schema)
