"""Narrowing: a run for a window keeps the rows of its days, as early as their date is known."""

from __future__ import annotations

from datetime import datetime

from sqlglot import exp

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import PlanError
from lakelogic.core.watermark import Watermark
from lakelogic.core.window import Window
from lakelogic.plan.checks import has_failed, mask_name, place_of
from lakelogic.plan.expressions import all_of, any_of, cast, column, is_null, text
from lakelogic.plan.model import Check
from lakelogic.plan.sql import SqlProblem
from lakelogic.plan.stage_builder import keep
from lakelogic.plan.steps.effects import made_columns
from lakelogic.plan.types import family, is_whole, named, type_name
from lakelogic.plan.workbench import Workbench

# Strategies whose rows can be replaced by day. The others know their rows by key.
BY_DAY = ("append", "overwrite", "overwrite_partitions")
# A merge takes the rows of a window as it takes any: they update those of the same key.
NARROWED = (*BY_DAY, "merge")


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
    if target is None or target.target_path is None or target.reprocess is None:
        raise PlanError(
            "a window needs to know the date of a row",
            code="LL350",
            hint="name its column under materialization.reprocess: {date_column: ...}",
        )
    if target.merge.delete_missing:
        raise PlanError(
            "`delete_missing` needs all rows of the source, and a window has some", code="LL350", hint="run it whole"
        )


def window_column(contract: Contract, window: Window | None) -> str | None:
    """The column that rows are narrowed by; None where all rows are wanted."""
    target = contract.materialization
    if window is None or target is None or target.reprocess is None or target.strategy not in NARROWED:
        return None
    return target.reprocess.date_column


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
    inside = all_of(
        [exp.GTE(this=column(name), expression=start), exp.LT(this=column(name), expression=end)],
    )
    _keep_rows(bench, name, inside, f"window {window} of {name}")


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
