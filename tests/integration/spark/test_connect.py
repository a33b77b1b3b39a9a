"""Runs through Spark Connect leave what runs in a session of their own leave."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.servers.connect import start_server

from lakelogic.core.settings import Settings
from lakelogic.record.run_log import read_runs

pytestmark = pytest.mark.spark

CONTRACT = """\
dataset: {strategy}
source: {{ path: landing, pattern: "*.csv", load_mode: incremental }}
model:
  fields:
    - {{ name: id, type: long, required: true }}
    - {{ name: tier, type: string, pattern: "^t[0-9]{{1,2}}$" }}
    - {{ name: email, type: string, pii: true, masking: hash }}
    - {{ name: day, type: date }}
transformations:
  - filter: "id <> 99"
quality:
  row_rules: [{{ sql: "100 / id > 1" }}]
  dataset_rules: [{{ row_count_between: {{ min: 1 }} }}]
materialization:
  strategy: {strategy}
  target_path: lake/{strategy}
  primary_key: [id]
  {options}
"""
STRATEGIES = {"merge": "", "scd2": "scd2: { timestamp_field: day, track_columns: [tier] }"}
FIRST = "id,tier,email,day\n1,t1,a@x.io,2026-01-01\n2,t2,b@x.io,2026-01-01\n0,t1,c@x.io,2026-01-01\n99,t1,,\nx,t1,,\n"
SECOND = "id,tier,email,day\n1,t9,a@x.io,2026-01-05\n3,t3,d@x.io,2026-01-05\n4,{2},e@x.io,2026-01-05\n"
# One session for all of them: a process can have either kind of session, so it is not this one.
CLIENT = """
import sys
from pathlib import Path
from lakelogic import DataProcessor
for name in sys.argv[2:]:
    for held in ("first.csv.hold", "second.csv.hold"):
        path = Path(name).parent / "landing" / held
        path.rename(path.with_suffix(""))
        with DataProcessor(name, engine="spark", remote=sys.argv[1]) as processor:
            result = processor.run()
            print(result.status, result.counts.read, result.counts.accepted, result.counts.quarantined)
"""


@pytest.fixture(scope="module")
def estates(tmp_path_factory: pytest.TempPathFactory, spark_settings: Settings) -> Path:
    """Every strategy, loaded twice through one server."""
    root = tmp_path_factory.mktemp("connect")
    contracts = []
    for strategy, options in STRATEGIES.items():
        folder = root / strategy
        (folder / "landing").mkdir(parents=True)
        (folder / "landing" / "first.csv.hold").write_text(FIRST)
        (folder / "landing" / "second.csv.hold").write_text(SECOND)
        (folder / "contract.yaml").write_text(CONTRACT.format(strategy=strategy, options=options))
        contracts.append(str(folder / "contract.yaml"))
    with start_server(spark_settings.jars, root) as address:
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, address, *contracts],
            env={**os.environ, "LAKELOGIC_PII_KEY": "a key for tests"},
            capture_output=True,
            text=True,
            timeout=250,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    (root / "printed").write_text(done.stdout)
    return root


def _rows(path: Path, *names: str) -> list[tuple[Any, ...]]:
    rows = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    return sorted(tuple(str(row[name]) for name in names) for row in rows)


def test_every_row_is_accounted_for(estates: Path) -> None:
    printed = (estates / "printed").read_text().splitlines()
    assert printed == ["succeeded 5 2 2", "succeeded 3 2 1"] * len(STRATEGIES)
    for strategy in STRATEGIES:
        runs = read_runs(str(estates / strategy / "lake" / "_lakelogic"), limit=None)
        assert sorted((run.batch, run.rows_read, run.rows_accepted) for run in runs) == [(1, 5, 2), (2, 3, 2)]


def test_tables_are_those_of_their_strategy(estates: Path) -> None:
    assert _rows(estates / "merge/lake/merge", "id", "tier") == [("1", "t9"), ("2", "t2"), ("3", "t3")]
    assert _rows(estates / "scd2/lake/scd2", "id", "version", "tier", "is_current") == [
        ("1", "1", "t1", "False"),
        ("1", "2", "t9", "True"),
        ("2", "1", "t2", "True"),
        ("3", "1", "t3", "True"),
    ]


def test_the_quarantine_tells_why(estates: Path) -> None:
    rows = DeltaTable(str(estates / "merge/lake/merge_quarantine")).to_pyarrow_table().to_pylist()
    assert sorted((row["id"], row["_lakelogic_errors"][0]) for row in rows) == [
        ("0", "Rule error: 100 / id > 1"),
        ("4", "Rule failed: tier matches ^t[0-9]{1,2}$"),
        ("x", "Cast failed: id = 'x' is not a long"),
    ]
