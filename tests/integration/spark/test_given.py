"""A Spark that was started for this process is used as it is, and left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from lakelogic.core.settings import Settings
from lakelogic.engine.spark.conf import find_jars

pytestmark = pytest.mark.spark

CONTRACT = """\
dataset: orders
source: { path: orders.csv, load_mode: incremental }
model: { fields: [{ name: id, type: int }] }
materialization: { target_path: lake/orders }
"""
SUBMITTED = """\
from pyspark.sql import SparkSession
from lakelogic import DataProcessor

with DataProcessor("contract.yaml") as processor:
    print('seen', processor.run().counts.accepted)
spark = SparkSession.getActiveSession()
with DataProcessor("contract.yaml") as processor:
    print('seen', processor.run().status)
# Still there after ours are closed, with the master and the name that it was submitted with.
context = spark.sparkContext
print("seen", context.master, context.appName, spark.read.format("delta").load("lake/orders").count())
"""


def test_a_submitted_program_runs_on_the_spark_that_it_was_submitted_to(
    tmp_path: Path, spark_settings: Settings
) -> None:
    (tmp_path / "contract.yaml").write_text(CONTRACT)
    (tmp_path / "orders.csv").write_text("id\n1\n2\nx\n")
    (tmp_path / "program.py").write_text(SUBMITTED)
    jars = ",".join(str(jar) for jar in find_jars(spark_settings))
    program = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    quick = ("spark.ui.enabled=false", "spark.sql.shuffle.partitions=2", "spark.databricks.delta.snapshotPartitions=2",
             "spark.sql.codegen.wholeStage=false", "spark.sql.codegen.factoryMode=NO_CODEGEN")  # fmt: skip
    settings = [word for each in quick for word in ("--conf", each)]
    submit = [str(program), "--master", "local[1]", "--name", "submitted", "--jars", jars, *settings, "program.py"]
    environ = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(submit, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=280)
    seen = [line.removeprefix("seen ") for line in done.stdout.splitlines() if line.startswith("seen ")]
    assert seen == ["2", "no_new_data", "local[1] submitted 2"], done.stderr[-3000:]
