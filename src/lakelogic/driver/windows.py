"""What a window means for each contract of an estate.

A window is about rows that have a date. An estate also has tables that are made whole from others (aggregates,
dimensions) and tables that know no dates (reference data). They must agree with the rows that the window changes, so
they are made again after them, or brought up to date; only where neither can be right is the window refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from lakelogic.contract.contract import Contract
from lakelogic.driver.worker import Request
from lakelogic.plan.narrow import check_window, dated_by

# rows: those of the window, replaced or told again; whole: made again from all of its source; new: what is new
Way = Literal["rows", "whole", "new"]


def way_of(contract: Contract, layer: str | None) -> Way:
    """How a contract follows a window; `rows` where the plan says whether that can be."""
    target = contract.materialization
    if contract.is_raw or target is None or target.strategy == "snapshot" or dated_by(contract) is not None:
        return "rows"
    if layer == "reference":
        return "new"
    return "whole" if _is_made_whole(contract) else "rows"


def _is_made_whole(contract: Contract) -> bool:
    """Whether reading all of the source again leaves the table that it ought to be."""
    target, source = contract.materialization, contract.source
    if target is None or source is None:
        return False
    match target.strategy:
        case "overwrite" | "overwrite_partitions":
            # One that reads only what is new would become another table.
            return source.load_mode == "full"
        case "cdc":
            return True  # a table of events is a function of them, however often they are told
        case "merge":
            return source.load_mode == "full" or bool(target.merge.order_by)
        case _:
            return False


def request_for(contract: Contract, layer: str | None, request: Request) -> Request:
    """What is asked of one contract where the pipeline is asked for a window."""
    if request.window in ("last_success", "none") and request.backfill is None:
        return request
    way = way_of(contract, layer)
    if way == "rows":
        return request
    return replace(request, window="none" if way == "whole" else "last_success", span=None, backfill=None)


def check_request(contract: Contract, layer: str | None, request: Request) -> None:
    """Raise where a contract cannot be right for the windows that are asked for."""
    fitted = replace(request_for(contract, layer, request), only_gaps=False)
    for window in fitted.windows_of(contract, request.clock.now())[:1]:
        if window is not None:
            check_window(contract, window)
