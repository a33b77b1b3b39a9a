"""Strategy `scd2`: what a history needs of its rows, and how its table looks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from sqlglot import exp

from lakelogic.contract.contract import Contract
from lakelogic.contract.materialization import Materialization, Scd2
from lakelogic.plan.checks import Failure
from lakelogic.plan.expressions import case, cast, column, text
from lakelogic.plan.model import DELETE_COLUMN, EVENT_TIME_COLUMN, HIDDEN_PREFIX, Column
from lakelogic.plan.stage_builder import Output, keep
from lakelogic.plan.types import family, named, string_type
from lakelogic.plan.workbench import Workbench
from lakelogic.plan.writes import Write, WriteScd2

KEYED = frozenset({"merge", "cdc", "scd2"})  # strategies that find a row by its key


def needed_columns(contract: Contract) -> tuple[str, ...]:
    """Columns without which a row has no place in the target."""
    target = contract.materialization
    if target is None or target.strategy not in KEYED:
        return ()
    timestamp = history_of(target).timestamp_field if target.strategy == "scd2" else None
    return tuple(dict.fromkeys([*contract.primary_key, *([timestamp] if timestamp else [])]))


def history_of(target: Materialization) -> Scd2:
    return target.scd2 or Scd2()


def end_failures(bench: Workbench, names: Sequence[str]) -> list[Failure]:
    """A row that starts where open versions end would end before it starts."""
    target = bench.contract.materialization
    if target is None or target.strategy != "scd2":
        return []
    history = history_of(target)
    found = bench.relation.find(history.timestamp_field or "")
    if found is None or found.name not in names or not is_moment(history.effective_to_default):
        return []
    if family(found.type) not in {"date", "timestamp"}:
        return []
    words = f"{found.name} < {history.effective_to_default}"
    too_late = exp.GTE(this=column(found.name), expression=cast(text(history.effective_to_default), found.type))
    return [
        bench.builder.book.add(
            too_late, name=words, message=f"Rule failed: {words}", category="validity", kind="key", column=found.name
        )
    ]


def date_deletes(bench: Workbench) -> None:
    """A change event that deletes tells its key only: what it ends, it ends when it happened."""
    target = bench.contract.materialization
    if target is None or target.strategy != "scd2" or EVENT_TIME_COLUMN not in bench.relation.hidden:
        return
    found = bench.relation.find(history_of(target).timestamp_field or "")
    if found is None or family(found.type) not in {"date", "timestamp"}:
        return  # told by the checks of a history
    happened = cast(column(EVENT_TIME_COLUMN), found.type)
    told = exp.Coalesce(this=column(found.name), expressions=[happened])
    dated = Output(found, case([(column(DELETE_COLUMN), told)], column(found.name)))
    outputs = [dated if c.name == found.name else keep(c) for c in bench.relation.columns]
    bench.builder.project("date deletes", outputs)


def plan_history(contract: Contract, staged: Sequence[Column], lineage: Sequence[str]) -> WriteScd2:
    """The write of a history; `staged` are the columns of the accepted files."""
    target = contract.materialization
    assert target is not None
    history = history_of(target)
    fixed = {*contract.primary_key, history.timestamp_field, DELETE_COLUMN, *lineage}
    others = [c for c in staged if c.name not in fixed and not c.name.startswith(HIDDEN_PREFIX)]
    tracked = [c.name for c in others if not history.track_columns or c.name in history.track_columns]
    given = {name: value for name, value in (target.unknown_member or {}).items() if value is not None}
    return WriteScd2(
        keys=contract.primary_key,
        timestamp=history.timestamp_field or "",
        tracked=tuple(tracked),
        untracked=tuple(c.name for c in others if c.name not in tracked),
        opaque=tuple(c.name for c in others if c.masking == "encrypt"),
        valid_from=history.effective_from_field,
        valid_to=history.effective_to_field,
        current=history.current_flag_field,
        version=history.version_column,
        end=history.effective_to_default,
        surrogate=history.surrogate_key,
        deletes=any(c.name == DELETE_COLUMN for c in staged),
        ignore_deletes=history.on_delete == "ignore",
        unknown_names=tuple(given),
        unknown_values=tuple(_as_text(value) for value in given.values()),
        personal=contract.personal,
    )


def history_columns(write: Write | None, staged: Sequence[Column]) -> tuple[Column, ...]:
    """The target's columns: what was staged and, for a history, what it adds."""
    kept = [c for c in staged if c.name != DELETE_COLUMN]
    if not isinstance(write, WriteScd2):
        return tuple(staged)
    source = {*write.keys, write.timestamp, *write.tracked, *write.untracked}
    moment = next((c.type for c in kept if c.name == write.timestamp), named("timestamp"))
    made = [
        Column(write.valid_from, moment, nullable=False, comment="Start of this version (inclusive)."),
        Column(write.valid_to, moment, nullable=False, comment="End of this version (exclusive)."),
        Column(write.current, named("boolean"), nullable=False, comment="Whether this version is still open."),
        Column(write.version, named("int"), nullable=False, comment="Number of this version of its key, from 1."),
    ]
    first = [Column(write.surrogate, string_type(), comment="Key of this version.")] if write.surrogate else []
    return (*first, *[c for c in kept if c.name in source], *made, *[c for c in kept if c.name not in source])


def staged_columns(write: Write, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Those of the target's columns that the accepted files have."""
    if not isinstance(write, WriteScd2):
        return tuple(columns)
    return tuple(c for c in columns if c.name not in {*write.made, write.surrogate})


def is_moment(value: str) -> bool:
    """Whether a text is a date or a timestamp."""
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def is_day(value: str) -> bool:
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
