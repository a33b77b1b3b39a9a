"""What scripts rely on: stdout, exit codes, silence about internals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

KEYS = {
    "run_id", "dataset", "status", "counts", "ledger", "target", "quarantine", "rules", "duration_s",
}  # fmt: skip
RUN = "lakelogic run shop/contract.yaml --engine duckdb"


@pytest.fixture
def shop(shell: Any, workplace: Path) -> Path:
    assert shell("lakelogic init shop").returncode == 0
    return workplace / "shop"


def test_json_has_exactly_the_promised_keys(shell: Any, shop: Path) -> None:
    done = shell(f"{RUN} --output json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert set(result) == KEYS
    assert set(result["counts"]) == {"read", "accepted", "quarantined"}
    assert set(result["target"]) == set(result["quarantine"]) == {"path", "version"}
    assert all({"step", "rows_in", "rows_out", "removed", "added"} <= set(line) for line in result["ledger"])
    assert all(set(rule) == {"name", "failed"} for rule in result["rules"])


def test_a_rerun_publishes_the_same_rows(shell: Any, shop: Path) -> None:
    first = json.loads(shell(f"{RUN} --output json").stdout)
    second = json.loads(shell(f"{RUN} --output json").stdout)
    assert (first["status"], first["counts"]) == ("succeeded", {"read": 7, "accepted": 3, "quarantined": 4})
    assert second["counts"] == first["counts"]


def test_show_prints_rows_reasons_ledger_and_times(shell: Any, shop: Path) -> None:
    done = shell(f"{RUN} --show")
    assert done.returncode == 0, done.stderr
    for shown in (
        "Good rows",
        "ada@example.com",
        "Quarantine",
        "Rule failed",
        "not_an_email",
        "Ledger",
        "seconds",
    ):
        assert shown in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_logs_go_to_stderr_in_their_form(shell: Any, shop: Path) -> None:
    done = shell(RUN)
    assert " INFO  | Run complete" in done.stderr
    assert "LakeLogic Alert: 4 records quarantined in 'customers'. Total: 7" in done.stderr
    assert "| Run complete" not in done.stdout


def test_quiet_leaves_only_warnings(shell: Any, shop: Path) -> None:
    assert "INFO" not in shell(f"{RUN} --quiet").stderr


def test_a_mistake_in_the_contract_is_2(shell: Any, shop: Path) -> None:
    contract = shop / "contract.yaml"
    contract.write_text(contract.read_text().replace("strategy: overwrite", "strategy: overwritten"))
    for command in ("lakelogic validate shop/contract.yaml", RUN, "lakelogic explain shop/contract.yaml"):
        done = shell(command)
        assert done.returncode == 2, command
        assert "contract.yaml:" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_what_the_engine_cannot_do_is_3(shell: Any, shop: Path) -> None:
    contract = shop / "contract.yaml"
    step = '\n  - derive: { digest: "xxhash64(customer_id)" }'
    contract.write_text(contract.read_text().replace("\ntransformations:", f"\ntransformations:{step}"))
    done = shell(RUN)
    assert (done.returncode, "Traceback" in done.stderr) == (3, False), done.stderr
    assert "xxhash64" in done.stderr


def test_a_missing_source_is_an_error_of_the_run(shell: Any, shop: Path) -> None:
    (shop / "data" / "customers.csv").unlink()
    done = shell(f"{RUN} --output json")
    assert (done.returncode, "Traceback" in done.stderr) == (4, False), done.stderr


def test_a_gate_that_says_no_is_5_and_publishes_nothing(shell: Any, shop: Path) -> None:
    done = shell(f"{RUN} --set quality.max_quarantine_ratio=0.1 --output json")
    assert done.returncode == 5, done.stderr
    assert not list((shop / "lakehouse" / "customers").glob("_delta_log/*.json"))


def test_the_run_log_tells_of_every_run(shell: Any, shop: Path) -> None:
    shell(RUN)
    run = json.loads(shell(f"{RUN} --output json").stdout)
    listed = json.loads(shell("lakelogic runs shop/contract.yaml --output json").stdout)
    assert len(listed) == 2
    assert listed[0]["run_id"] == run["run_id"]
    below = json.loads(shell("lakelogic runs shop --output json").stdout)
    assert [line["run_id"] for line in below] == [line["run_id"] for line in listed]
    shown = json.loads(shell(f"lakelogic runs show {run['run_id']} shop --output json").stdout)
    assert shown["counts"] == run["counts"]


def test_validate_loads_no_engine(shell: Any, shop: Path) -> None:
    heavy = "{'pyspark', 'duckdb', 'polars', 'deltalake', 'pandas'}"
    code = (
        "import sys; sys.argv = ['lakelogic', 'validate', 'shop/contract.yaml']\n"
        "from lakelogic.cli.main import app\n"
        "try: app()\n"
        "except SystemExit as ended: assert not ended.code, ended.code\n"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    done = shell(f'python -c "{code}"')
    assert done.stdout.strip() == "[]", done.stderr


def test_the_schema_is_json(shell: Any) -> None:
    schema = json.loads(shell("lakelogic schema").stdout)
    assert {"source", "model", "quality", "materialization"} <= set(schema["properties"])


def test_explain_shows_steps_and_sql(shell: Any, shop: Path) -> None:
    done = shell("lakelogic explain shop/contract.yaml")
    assert done.returncode == 0, done.stderr
    assert "LOWER(TRIM(email))" in done.stdout
    assert json.loads(shell("lakelogic explain shop/contract.yaml --output json").stdout)
