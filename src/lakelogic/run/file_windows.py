"""Which files a run for a window looks at: those whose paths do not say that they are of other days."""

from __future__ import annotations

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import PlanError
from lakelogic.core.window import Window
from lakelogic.plan.narrow import last_maker, window_column
from lakelogic.source.path_dates import DatedPaths, undated_source


def dated_paths(contract: Contract, window: Window | None) -> DatedPaths | None:
    """None where paths cannot tell, and every file has to be looked into.

    Rows are of the day that `reprocess.date_column` says. A path speaks for its rows where that column is a partition
    of it. Raw Bronze has no such column: there the day of the file is meant.
    """
    if window is None or contract.source is None:
        return None
    if contract.is_raw:
        return _of_raw(contract, window)
    name = window_column(contract, window)
    field = contract.model.field(name) if name is not None else None
    if name is None or field is None or field.type != "date" or last_maker(contract, name) is not None:
        return None
    return DatedPaths(window, (name, *field.aliases), compact=field.format == "yyyyMMdd")


def _of_raw(contract: Contract, window: Window) -> DatedPaths:
    source = contract.source
    assert source is not None
    if source.type != "file" or source.format == "delta":
        raise undated_source("a topic" if source.type == "kafka" else "a table")
    if not window.is_of_days:
        raise PlanError(
            f"files are of days, and the window {window} is shorter than a day",
            code="LL357",
            hint="cut windows by day or more",
        )
    return DatedPaths(window)


def refuse_reprocess(contract: Contract) -> None:
    """Raise where a period cannot be read again, because nothing may be replaced."""
    if contract.is_raw:
        raise PlanError(
            "raw Bronze is append-only: what was read cannot be replaced",
            where=contract.at("source.raw"),
            code="LL357",
            hint="reprocess the contracts that read this table; `--window range` reads files not read yet",
        )
