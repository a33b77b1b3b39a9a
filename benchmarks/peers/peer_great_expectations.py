"""Great Expectations on Spark: each rule an expectation over the column; it says how many values fail, not which rows.

The table is written whole afterwards: there is nothing to split it by.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import great_expectations as gx
from common import measure, spark_session, typed_columns
from great_expectations import expectations as gxe
from workload import CASTS

SPARK = spark_session()


def expectations() -> list[Any]:
    rules = [
        gxe.ExpectColumnValuesToBeBetween(column="amount", min_value=0, strict_min=True),
        gxe.ExpectColumnValuesToBeBetween(column="quantity", min_value=1, max_value=100),
        gxe.ExpectColumnValuesToMatchRegex(column="email", regex=r"^[^@ ]+@[^@ ]+\.[a-z]+$"),
        gxe.ExpectColumnValuesToMatchRegex(column="customer_id", regex="^C[0-9]{7}$"),
        gxe.ExpectColumnValuesToMatchRegex(column="phone", regex=r"^\+[0-9]{6,14}$"),
        gxe.ExpectColumnValuesToBeInSet(column="status", value_set=["NEW", "PAID", "SHIPPED", "DONE"]),
        gxe.ExpectColumnValuesToBeInSet(column="country", value_set=["DE", "FR", "GB", "US", "JP"]),
        gxe.ExpectColumnValuesToBeBetween(column="order_date", min_value="2020-01-01"),
        gxe.ExpectColumnValuesToBeBetween(column="discount", min_value=0, max_value=90),
        gxe.ExpectColumnValueLengthsToBeBetween(column="note", max_value=200),
    ]
    return rules + [gxe.ExpectColumnValuesToNotBeNull(column=column) for column in CASTS]


def job(path: str, out: Path) -> dict[str, Any]:
    frame = SPARK.read.parquet(path).selectExpr(*typed_columns())
    context = gx.get_context(mode="ephemeral")
    asset = context.data_sources.add_spark("orders").add_dataframe_asset("orders")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
    suite = gx.ExpectationSuite(name="orders", expectations=expectations())
    result = batch.validate(suite, result_format="SUMMARY")
    frame.write.format("delta").save(str(out / "orders"))
    frame.unpersist()
    failed = {each.expectation_config.kwargs["column"] + " " + each.expectation_config.type:
              each.result["unexpected_count"] for each in result.results}  # fmt: skip
    return {"read": result.results[0].result["element_count"], "failed": {k: v for k, v in failed.items() if v}}


if __name__ == "__main__":
    measure("great_expectations", "spark", job, row_verdicts=False, writes="Delta, all rows")
