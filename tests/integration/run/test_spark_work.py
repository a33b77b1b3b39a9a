"""How much work a run gives to Spark: one scan of the source and few jobs, however many rules."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("compiled")]

ROWS = 2000
QUICKSTART = Path(__file__).resolve().parents[3] / "examples" / "quickstart"


@pytest.mark.parametrize("rules", [1, 40])
def test_a_text_source_is_scanned_once_however_many_rules(rules: int, tmp_path: Path, spark_session: Any) -> None:
    size = _write_source(tmp_path)
    _write_contract(tmp_path, rules)
    before = _work(spark_session)
    result = DataProcessor(tmp_path / "contract.yaml", spark=spark_session).run()
    after = _work(spark_session)
    assert (result.counts.read, result.counts.quarantined) == (ROWS, ROWS // 100)
    jobs = after["jobs"] - before["jobs"]
    scanned = after["text_bytes"] - before["text_bytes"]
    # One job writes all rows, one writes the quarantine; the rest is delta-rs.
    assert jobs <= 3, f"{jobs} jobs"
    # Spark counts a little beyond each split's end; a second scan would be twice the size.
    assert size * 0.5 < scanned < size * 1.5, f"{scanned} bytes read of {size}"


def test_the_quickstart_gives_what_its_readme_says(tmp_path: Path, spark_session: Any) -> None:
    shutil.copytree(QUICKSTART, tmp_path / "quickstart", ignore=shutil.ignore_patterns("lake"))
    result = DataProcessor(tmp_path / "quickstart" / "contract.yaml", spark=spark_session).run()
    assert (result.counts.read, result.counts.accepted, result.counts.quarantined) == (14, 5, 7)
    # One test order was filtered out, one older copy of an order dropped.
    assert sum(step.removed for step in result.ledger if step.step != "read") == 2


def test_good_rows_only_need_one_job(tmp_path: Path, spark_session: Any) -> None:
    _write_source(tmp_path, bad=False)
    _write_contract(tmp_path, 5)
    before = _work(spark_session)
    DataProcessor(tmp_path / "contract.yaml", spark=spark_session).run()
    assert _work(spark_session)["jobs"] - before["jobs"] <= 1


def test_the_next_run_finds_its_code_compiled(tmp_path: Path, spark_session: Any) -> None:
    """The time of the run must not stand in generated code, or every run would compile and warm up its own."""
    compiled = []
    for number in range(3):
        folder = tmp_path / f"run{number}"
        folder.mkdir()
        _write_source(folder)
        _write_contract(folder, 5)
        before = _compilations(spark_session)
        DataProcessor(folder / "contract.yaml", spark=spark_session).run()
        compiled.append(_compilations(spark_session) - before)
    assert compiled[0] > 0
    assert compiled[1:] == [0, 0]


def test_a_hundred_and_fifty_derived_columns_are_no_deep_plan(tmp_path: Path, spark_session: Any) -> None:
    derived = ", ".join(f'c{n}: "id + {n}"' for n in range(150))
    (tmp_path / "source.csv").write_text("id\n1\n2\n")
    (tmp_path / "contract.yaml").write_text(
        "dataset: wide\nsource: { path: source.csv }\nmodel: { fields: [{ name: id, type: long }] }\n"
        f"transformations: [{{ derive: {{ {derived} }} }}]\nmaterialization: {{ target_path: lake/wide }}\n"
    )
    good, _ = DataProcessor(tmp_path / "contract.yaml", spark=spark_session).run()
    assert [(row["c0"], row["c149"]) for row in good.orderBy("id").collect()] == [(1, 150), (2, 151)]


def _compilations(spark: Any) -> int:
    metrics = spark.sparkContext._jvm.org.apache.spark.metrics.source.CodegenMetrics
    return int(metrics.METRIC_COMPILATION_TIME().getCount())


def _write_source(folder: Path, *, bad: bool = True) -> int:
    lines = ["id,amount,name"]
    lines += [f"{i},{'abc' if bad and i % 100 == 0 else i},{'n' * 40}{i}" for i in range(ROWS)]
    path = folder / "source.csv"
    path.write_text("\n".join(lines) + "\n")
    return path.stat().st_size


def _write_contract(folder: Path, rules: int) -> None:
    listed = "\n".join(f'    - sql: "amount >= -{n}"' for n in range(rules))
    (folder / "contract.yaml").write_text(
        "dataset: work\n"
        "source: { path: source.csv }\n"
        "model:\n  fields:\n"
        "    - { name: id, type: long, required: true }\n"
        "    - { name: amount, type: int }\n"
        "    - { name: name, type: string }\n"
        f"quality:\n  row_rules:\n{listed}\n"
        "materialization: { strategy: append, target_path: lake/work }\n"
    )


def _work(spark: Any) -> dict[str, int]:
    """Jobs so far, and bytes that stages read; Parquet scans of staged files are small beside the source."""
    store = spark.sparkContext._jsc.sc().statusStore()
    listener = spark.sparkContext._jsc.sc().listenerBus()
    listener.waitUntilEmpty(10_000)
    jobs = store.jobsList(None).size()
    stages = store.stageList(None, False, False, _no_doubles(spark), None)
    most = [stages.apply(i).inputBytes() for i in range(stages.size())]
    return {"jobs": jobs, "text_bytes": sum(most)}


def _no_doubles(spark: Any) -> Any:
    gateway = spark.sparkContext._gateway
    return gateway.new_array(gateway.jvm.double, 0)
