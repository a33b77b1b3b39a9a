"""From what value on a run reads, where the target says what was read before."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from lakelogic.contract.contract import Contract
from lakelogic.contract.watermarks import reads_by_target
from lakelogic.core.errors import PlanError
from lakelogic.core.watermark import Watermark
from lakelogic.run.places import Places
from lakelogic.table.newest import Newest, find_newest


def find_watermark(contract: Contract, places: Places) -> Watermark | None:
    """The newest value of the target, less the lookback; None where all rows are wanted."""
    source = contract.source
    if source is None or not reads_by_target(source) or places.target is None:
        return None
    assert source.watermark_field is not None
    newest = find_newest(places.target.path, source.watermark_field)
    if newest is None:
        return None
    if source.lookback is not None:
        newest = _before(newest, source.lookback, contract)
    return Watermark(source.watermark_field, _text(newest))


def _before(newest: Newest, lookback: timedelta, contract: Contract) -> Newest:
    if isinstance(newest, datetime):
        return newest - lookback
    if isinstance(newest, date):
        # A part of a day is a whole one: dates know no hours.
        return newest - timedelta(days=-(-lookback // timedelta(days=1)))
    raise PlanError(
        "`lookback` is a time, and the watermark is a number",
        where=contract.at("source.lookback"),
        hint="take it away, or use a date or timestamp as watermark_field",
        code="LL354",
    )


def _text(value: Newest) -> str:
    return f"{value:%Y-%m-%d %H:%M:%S.%f}" if isinstance(value, datetime) else str(value)
