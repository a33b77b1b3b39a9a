"""Columns that the contract's materialization adds to a row: day of the snapshot, lateness, verdict of the rules."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from lakelogic.plan.expressions import cast, column, is_null, number, placeholder, text
from lakelogic.plan.flags import flag_reason
from lakelogic.plan.model import Column
from lakelogic.plan.sql import SqlProblem
from lakelogic.plan.stage_builder import Output
from lakelogic.plan.types import family, named, string_type
from lakelogic.plan.workbench import Workbench

LAG, IS_LATE = "ingestion_lag_secs", "is_late_arrival"
PASSED, REASON = "dq_passed", "dq_failure_reason"


def fact_columns(bench: Workbench) -> list[Output]:
    """What is added, in this order; a row that has a column of such a name already is a mistake of the author."""
    outputs = [*_snapshot_date(bench), *_lateness(bench), *_verdict(bench)]
    for output in outputs:
        if bench.relation.find(output.column.name) is not None:
            problem = SqlProblem(
                "LL231",
                f"the rows have a column `{output.column.name}` already, which the materialization adds",
                "rename the column in a step, or take the setting away",
            )
            bench.problems.append(problem.at(bench.contract.at("materialization")))
    return outputs


def _snapshot_date(bench: Workbench) -> Iterator[Output]:
    """The day that a snapshot is of: that of the window, else that of the run."""
    target = bench.contract.materialization
    if target is None or target.strategy != "snapshot":
        return
    day = text(bench.window.first_day.isoformat()) if bench.window else placeholder("today")
    made = Column(target.snapshot.date_column, named("date"), comment="The day that this snapshot is of.")
    yield Output(made, cast(day, named("date")))


def _lateness(bench: Workbench) -> Iterator[Output]:
    """How long a row took from its event to this run; NULL where it has no event time."""
    late = bench.contract.materialization.late_arrival if bench.contract.materialization else None
    if late is None:
        return
    with bench.reporting("materialization.late_arrival.event_time"):
        found = bench.require(late.event_time)
        if family(found.type) not in {"date", "timestamp", "unknown"}:
            raise SqlProblem(
                "LL222", f"`{late.event_time}` is not a date or timestamp", "declare its type in model.fields"
            )
        lag = exp.Sub(this=_seconds(placeholder("processed_at")), expression=_seconds(column(late.event_time)))
        long = named("bigint")
        seconds = cast(exp.paren(lag, copy=False), long)
        limit = int(late.after.total_seconds())
        yield Output(Column(LAG, long, comment=f"Seconds from {late.event_time} to the run."), seconds)
        is_late = exp.GT(this=exp.paren(seconds.copy(), copy=False), expression=number(limit))
        comment = f"Whether that is more than {limit} seconds."
        yield Output(Column(IS_LATE, named("boolean"), comment=comment), is_late)


def _seconds(value: exp.Expr) -> exp.Expr:
    return cast(cast(value, named("timestamp")), named("bigint"))


def _verdict(bench: Workbench) -> Iterator[Output]:
    if not bench.builder.book.flags:
        return
    reason = flag_reason(bench.builder)
    yield Output(Column(PASSED, named("boolean"), comment="Whether the row passed every rule."), is_null(reason))
    yield Output(Column(REASON, string_type(), comment="The rules that it failed."), reason.copy())
