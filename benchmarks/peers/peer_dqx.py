"""DQX on open-source Spark: row verdicts, split into good and bad rows, each written as a Delta table.

It asks for a Databricks workspace when it starts; a stand-in that answers everything lets it run here.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

from common import measure, spark_session, typed_columns
from databricks.labs.dqx import check_funcs
from databricks.labs.dqx.engine import DQEngine
from databricks.labs.dqx.rule import DQRowRule
from databricks.sdk import WorkspaceClient
from workload import CASTS, COLUMNS

SPARK = spark_session()
RAW = "raw_"


def row_rule(function: Any, column: str, **arguments: Any) -> DQRowRule:
    return DQRowRule(criticality="error", check_func=function, column=column, check_func_kwargs=arguments)


def expression(name: str, sql: str) -> DQRowRule:
    return DQRowRule(name=name, criticality="error", check_func=check_funcs.sql_expression,
                     check_func_kwargs={"expression": sql})  # fmt: skip


def checks() -> list[DQRowRule]:
    first_day = datetime.date(2020, 1, 1)
    rules = [
        expression("amount", "amount > 0"),
        row_rule(check_funcs.is_in_range, "quantity", min_limit=1, max_limit=100),
        row_rule(check_funcs.regex_match, "email", regex=r"^[^@ ]+@[^@ ]+\.[a-z]+$"),
        row_rule(check_funcs.regex_match, "customer_id", regex="^C[0-9]{7}$"),
        row_rule(check_funcs.regex_match, "phone", regex=r"^\+[0-9]{6,14}$"),
        expression("status", "status IN ('NEW', 'PAID', 'SHIPPED', 'DONE')"),
        expression("country", "country IN ('DE', 'FR', 'GB', 'US', 'JP')"),
        row_rule(check_funcs.is_not_less_than, "order_date", limit=first_day),
        expression("discount", "discount >= 0 AND discount <= 90"),
        expression("note", "length(note) <= 200"),
    ]
    return rules + [expression(f"cast of {c}", f"NOT ({RAW}{c} IS NOT NULL AND {c} IS NULL)") for c in CASTS]


def job(path: str, out: Path) -> dict[str, Any]:
    frame = SPARK.read.parquet(path).selectExpr(*typed_columns(RAW))
    engine = DQEngine(create_autospec(WorkspaceClient), SPARK)
    good, bad = engine.apply_checks_and_split(frame, checks())
    good.select(*COLUMNS).write.format("delta").save(str(out / "good"))
    bad.write.format("delta").save(str(out / "bad"))
    counts = {name: SPARK.read.format("delta").load(str(out / name)).count() for name in ("good", "bad")}
    return {"read": sum(counts.values()), **counts}


if __name__ == "__main__":
    measure("databricks-labs-dqx", "spark", job, row_verdicts=True, writes="Delta, good and bad rows")
