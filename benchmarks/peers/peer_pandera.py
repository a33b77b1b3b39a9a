"""Pandera on Polars: failed cells with their row numbers; good and bad rows are split by them and written to Delta."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pandera.polars as pa
import polars as pl
from common import measure
from pandera.errors import SchemaErrors
from workload import COLUMNS

TYPES = {"order_id": pl.Int64, "amount": pl.Decimal(12, 2), "quantity": pl.Int32, "order_date": pl.Date,
         "updated_at": pl.Datetime("us"), "discount": pl.Float64}  # fmt: skip
TIMES = (pl.Date, pl.Datetime("us"))
CHECKS = {
    "amount": [pa.Check.gt(0)],
    "quantity": [pa.Check.in_range(1, 100)],
    "email": [pa.Check.str_matches(r"^[^@ ]+@[^@ ]+\.[a-z]+$")],
    "customer_id": [pa.Check.str_matches("^C[0-9]{7}$")],
    "phone": [pa.Check.str_matches(r"^\+[0-9]{6,14}$")],
    "status": [pa.Check.isin(["NEW", "PAID", "SHIPPED", "DONE"])],
    "country": [pa.Check.isin(["DE", "FR", "GB", "US", "JP"])],
    "order_date": [pa.Check.ge(datetime.date(2020, 1, 1))],
    "discount": [pa.Check.in_range(0, 90)],
    "note": [pa.Check.str_length(max_value=200)],
}


def schema() -> pa.DataFrameSchema:
    # A text that could not be cast is NULL by then; the input has no NULL of its own.
    return pa.DataFrameSchema(
        {name: pa.Column(TYPES.get(name, pl.String), CHECKS.get(name, []), nullable=name not in TYPES)
         for name in COLUMNS}
    )  # fmt: skip


def job(path: str, out: Path) -> dict[str, Any]:
    raw = pl.read_parquet(path)
    numbers = [pl.col(name).cast(type_, strict=False) for name, type_ in TYPES.items() if type_ not in TIMES]
    typed = raw.with_columns(
        *numbers,
        pl.col("order_date").str.to_date("%Y-%m-%d", strict=False),
        pl.col("updated_at").str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False, time_unit="us"),
    )
    failed = pl.DataFrame(schema={"index": pl.UInt32, "reasons": pl.List(pl.String)})
    try:
        schema().validate(typed, lazy=True)
    except SchemaErrors as errors:
        cells = errors.failure_cases.drop_nulls("index").select(pl.col("index").cast(pl.UInt32), "column", "check")
        reason = pl.concat_str("column", pl.lit(": "), "check").alias("reasons")
        failed = cells.group_by("index").agg(reason)
    bad = raw.with_row_index().join(failed, on="index")
    good = typed.with_row_index().join(failed, on="index", how="anti").drop("index")
    good.write_delta(str(out / "good"))
    bad.write_delta(str(out / "bad"))
    return {"read": len(raw), "good": len(good), "bad": len(bad)}


if __name__ == "__main__":
    measure("pandera", "polars", job, row_verdicts=True, writes="Delta, good and bad rows (split by hand)")
