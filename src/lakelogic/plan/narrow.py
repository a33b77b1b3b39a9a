"""Narrowing: a run for a window keeps the rows of its days, as early as their date is known."""

from __future__ import annotations

from datetime import datetime

from sqlglot import exp

from lakelogic.contract.contract import Contract
from lakelogic.contract.materialization import Merge
from lakelogic.core.errors import PlanError
from lakelogic.core.watermark import Watermark
from lakelogic.core.window import Window
from lakelogic.plan.checks import has_failed, mask_name, place_of
from lakelogic.plan.expressions import all_of, any_of, case, cast, column, is_null, text
from lakelogic.plan.model import DELETE_COLUMN, EVENT_TIME_COLUMN, Check
from lakelogic.plan.sql import SqlProblem
from lakelogic.plan.stage_builder import keep
from lakelogic.plan.steps.effects import made_columns
from lakelogic.plan.types import family, is_whole, named, type_name
from lakelogic.plan.workbench import Workbench

# Strategies whose rows can be replaced by day. The others know their rows by key.
BY_DAY = ("append", "overwrite", "overwrite_partitions")
# These take the rows of a window as they take any: what they were told before changes nothing when it is told again.
BY_KEY = ("merge", "scd2", "cdc")


def check_window(contract: Contract, window: Window) -> None:
    """Raise where a contract does not say what a window replaces."""
    target = contract.materialization
    if contract.is_raw:
        return  # its files are chosen by their dates, and nothing is replaced
    if target is not None and target.strategy == "snapshot":
        if window.days > 1:
            raise PlanError(
                f"a snapshot is of one day, and the window has {window.days}", code="LL350", hint="name one day"
            )
        return
    if target is None or target.target_path is None or dated_by(contract) is None:
        raise PlanError(
            "a window needs to know the date of a row",
            code="LL350",
            hint="name its column under materialization.reprocess: {date_column: ...}",
        )
    if target.strategy == "merge":
        _check_merge(contract, target.merge)


def _check_merge(contract: Contract, merge: Merge) -> None:
    """Raise where the rows of some days, merged again, could undo what later ones did."""
    if merge.delete_missing:
        raise PlanError(
            "`delete_missing` needs all rows of the source, and a window has some", code="LL350", hint="run it whole"
        )
    if contract.source is None or contract.source.load_mode == "full":
        return  # each run takes the source as one batch, in which a key has one row
    if merge.delete_when is not None:
        raise PlanError(
            "a deleted key is not remembered, and a row of the window could bring it back",
            code="LL350",
            hint="run it whole, or use change events (strategy: cdc), which remember deletes",
        )
    if not merge.order_by and not merge.insert_only:
        raise PlanError(
            "without an order, a row of the window could overwrite a newer one",
            code="LL350",
            hint="name the column that tells which row is newer under materialization.merge.order_by",
        )


def dated_by(contract: Contract) -> str | None:
    """The column that says of which day a row is; a history has one anyway."""
    target = contract.materialization
    if target is None or target.strategy not in (*BY_DAY, *BY_KEY):
        return None
    if target.reprocess is not None:
        return target.reprocess.date_column
    return target.scd2.timestamp_field if target.strategy == "scd2" and target.scd2 is not None else None


def window_column(contract: Contract, window: Window | None) -> str | None:
    """The column that rows are narrowed by; None where all rows are wanted."""
    return dated_by(contract) if window is not None else None


def last_maker(contract: Contract, name: str) -> int | None:
    """The position of the step after which a column stays as it is; None where the source has it."""
    makers = [n for n, step in enumerate(contract.transformations) if name in made_columns(step, contract.dialect)]
    late = [n for n in makers if contract.transformations[n].phase == "post"]
    return (late or makers)[-1] if makers else None


def narrow_rows(bench: Workbench, name: str, window: Window) -> None:
    """Keep the rows of the window, and those whose date cannot be read: they belong in the quarantine."""
    found = bench.require(name)
    if family(found.type) not in {"date", "timestamp"}:
        raise SqlProblem(
            "LL239",
            f"`{name}` is {type_name(found.type)}, and a window is of dates",
            "declare the column as date, timestamp or timestamp_ntz in model.fields",
        )
    if family(found.type) == "date" and not window.is_of_days:
        raise SqlProblem(
            "LL239", f"`{name}` is a date, and the window {window} is shorter than a day", "cut windows by day or more"
        )
    start, end = (cast(text(moment), found.type) for moment in window_texts(window, found.type))
    day = _date_of_row(bench, name, found.type)
    inside = all_of([exp.GTE(this=day, expression=start), exp.LT(this=day.copy(), expression=end)])
    _keep_rows(bench, name, inside, f"window {window} of {name}")


def _date_of_row(bench: Workbench, name: str, type_: exp.DataType) -> exp.Expr:
    """A change event that deletes may tell its key only; it is of the day on which it happened."""
    if EVENT_TIME_COLUMN not in bench.relation.hidden:
        return column(name)
    happened = exp.Coalesce(this=column(name), expressions=[cast(column(EVENT_TIME_COLUMN), type_)])
    return case([(column(DELETE_COLUMN), happened)], column(name))


def keep_newer(bench: Workbench, watermark: Watermark) -> None:
    """Keep the rows from a watermark on; one without a value cannot be told from a new one, and is kept."""
    found = bench.require(watermark.field)
    if family(found.type) not in {"date", "timestamp"} and not is_whole(found.type):
        raise SqlProblem(
            "LL239",
            f"`{found.name}` is {type_name(found.type)}, and a watermark is a date, a timestamp or a whole number",
            "declare its type in model.fields, or use watermark_strategy: pipeline_log",
        )
    newer = exp.GTE(this=column(found.name), expression=cast(text(watermark.value), found.type))
    _keep_rows(bench, found.name, any_of([newer, is_null(column(found.name))]), f"watermark {watermark}")


def _keep_rows(bench: Workbench, name: str, wanted: exp.Expr, label: str) -> None:
    spared = [check for check in bench.builder.book.checks if _hides_date(check, name)]
    undated = any_of([has_failed(check, column(mask_name(place_of(check)[0]))) for check in spared])
    bench.builder.project(
        label, [keep(c) for c in bench.relation.columns], where=wanted, spared=undated, effect="removes"
    )


def _hides_date(check: Check, name: str) -> bool:
    return check.kind in {"malformed", "step_error"} or (check.kind == "cast" and check.column == name)


def window_texts(window: Window, type_: exp.DataType) -> tuple[str, str]:
    """Start and end of a window as a column of this type is compared with them."""
    if family(type_) == "date":
        return window.first_day.isoformat(), window.day_after.isoformat()
    if type_.this == named("timestamp_ntz").this:
        # Such a column has the time of a wall clock, which is that of the contract's zone.
        return _moment(window.local(window.start)), _moment(window.local(window.end))
    return _moment(window.start), _moment(window.end)


def _moment(moment: datetime) -> str:
    # Sessions of all engines are in UTC, so a text without a zone is, too.
    return f"{moment:%Y-%m-%d %H:%M:%S}"
