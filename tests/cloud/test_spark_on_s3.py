"""Spark on S3: the same promises, and no key in what Spark shows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cloud.support import FIRST, KEY_ID, SECOND, SECRET, Estate
from tests.faults.support import killed_in_process

from lakelogic.core.settings import Settings

pytestmark = [pytest.mark.spark]

NAMED = """\
credentials:
  - path: s3://lake
    access_key_id: "${{secret:lake/id}}"
    secret_access_key: "${{secret:lake/key}}"
    endpoint: "{0}"
"""


@pytest.fixture(scope="module")
def s3_jars(spark_settings: Settings) -> None:
    if not any(spark_settings.jars.glob("*hadoop-aws*.jar")):
        pytest.skip("Spark's jars for S3 are missing: lakelogic setup --with s3")


@pytest.fixture
def on_spark(
    estate: Estate, spark_session: Any, s3_jars: None, s3_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> Estate:
    """The session is not LakeLogic's own, so that it gets what the contract names, and nothing else."""
    monkeypatch.setenv("LAKELOGIC_SECRET_LAKE_ID", KEY_ID)
    monkeypatch.setenv("LAKELOGIC_SECRET_LAKE_KEY", SECRET)
    return replace(estate, engine="spark", spark=spark_session, more={"credentials": NAMED.format(s3_endpoint)})


def _rows(estate: Estate) -> list[tuple[int, str]]:
    rows = (json.loads(row) for row in estate.rows("orders").elements())
    return sorted((row["order_id"], row["amount"]) for row in rows)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("append", [(1, "10.00"), (2, "20.00"), (2, "25.00"), (5, "50.00")]),
        ("merge", [(1, "10.00"), (2, "25.00"), (5, "50.00")]),
    ],
)
def test_a_killed_batch_is_finished_and_a_rerun_changes_nothing(
    strategy: str, expected: list[tuple[int, str]], on_spark: Estate, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_spark.declare(strategy, extra=on_spark.more["credentials"])
    on_spark.drop("first.csv", FIRST)
    on_spark.run()
    on_spark.drop("second.csv", SECOND)
    with killed_in_process("after_mark_staged", monkeypatch):
        on_spark.run()
    on_spark.run()
    seen = on_spark.visible()
    assert _rows(on_spark) == expected
    assert seen["log"] == [(1, 3, 2, 1), (2, 4, 2, 2)]
    assert seen["commits"] == 2
    assert on_spark.run().status == "no_new_data"
    assert on_spark.visible() == seen


def test_no_key_is_in_what_spark_writes_down(
    estate: Estate, s3_jars: None, spark_settings: Settings, tmp_path: Path
) -> None:
    events = tmp_path / "events"
    events.mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
    }
    on_spark = replace(estate, engine="spark")
    on_spark.declare(extra=f"spark: {json.dumps(settings)}\n")
    on_spark.drop("first.csv", FIRST)
    process = on_spark.start(
        "--master", "local[2]", LAKELOGIC_LOG_LEVEL="DEBUG", LAKELOGIC_JARS=str(spark_settings.jars)
    )
    out, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors[-2000:]
    written = "".join(file.read_text() for file in events.rglob("*") if file.is_file())
    assert "SparkListenerSQLExecutionStart" in written
    assert "fs.s3a.bucket.lake.secret.key" in written  # the settings are there, without their values
    for text in (written, out, errors):
        assert SECRET not in text and KEY_ID not in text
    assert _rows(on_spark) == [(1, "10.00"), (2, "20.00")]
