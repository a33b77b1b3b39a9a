"""`--approval-required`, `--approval-file` and `lakelogic approvals`, through the edge of the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

CONTRACT = """\
dataset: {name}
info: {{ target_layer: gold }}
source: {{ path: {name}.csv, load_mode: incremental }}
model: {{ fields: [{{ name: id, type: long, required: true }}] }}
quality: {{ max_quarantine_ratio: 0.4 }}
materialization: {{ target_path: lake/{name} }}
"""
REGISTRY = "entries:\n  - { entity: a, contracts: { gold: [orders.yaml, returns.yaml] } }\n"


def _estate(folder: Path) -> str:
    for name, text in (("orders", "id\n1\nx\n"), ("returns", "id\n7\n")):
        (folder / f"{name}.yaml").write_text(CONTRACT.format(name=name))
        (folder / f"{name}.csv").write_text(text)
    (folder / "_registry.yaml").write_text(REGISTRY)
    return str(folder / "_registry.yaml")


def test_a_pipeline_holds_prints_the_entry_and_publishes_what_is_approved(lakelogic: Any, tmp_path: Path) -> None:
    registry, file = _estate(tmp_path), str(tmp_path / "approvals" / "2026-02-06.ok")
    asked = ("--engine", "duckdb", "--approval-required", "--approval-file", file, "--output", "json")
    first = lakelogic("pipeline", "--registry", registry, "--layers", "gold", "--continue-on-error", *asked)
    told = {each["dataset"]: each for each in json.loads(first.stdout)["contracts"]}
    assert (first.code, told["orders"]["status"], told["returns"]["status"]) == (5, "held", "succeeded")
    held = told["orders"]["held"]
    assert f"run_id: {held['run_id']}" in first.stderr and f"digest: {held['digest']}" in first.stderr
    assert not DeltaTable.is_deltatable(str(tmp_path / "lake" / "orders"))

    planned = json.loads(lakelogic("pipeline", "--registry", registry, "--dry-run", *asked).stdout)
    assert f"run {held['run_id']} is held" in next(each["reads"] for each in planned if each["dataset"] == "orders")
    listed = json.loads(lakelogic("approvals", "list", registry, "--output", "json").stdout)
    assert [(each["run_id"], each["digest"], each["accepted"], each["quarantined"]) for each in listed] == [
        (held["run_id"], held["digest"], 1, 1)
    ]
    contract = str(tmp_path / "orders.yaml")
    approve = ("approvals", "approve", held["run_id"][:10], contract, "--by", "ann", "--approval-file", file)
    assert lakelogic(*approve, "--expires", "2020-01-01").code == 2
    assert lakelogic("approvals", "approve", "2020", contract, "--by", "ann").code == 4
    assert lakelogic(*approve).code == 0
    run = lakelogic("run", contract, *asked)
    assert (run.code, json.loads(run.stdout)["approved_by"]) == (0, "ann")
    assert DeltaTable(str(tmp_path / "lake" / "orders")).to_pyarrow_table()["id"].to_pylist() == [1]
    shown = lakelogic("runs", "show", held["run_id"], contract).stdout
    assert f"digest      {held['digest']}" in shown and "approved by ann" in shown
    assert "an earlier attempt at this run held" in shown
    assert "nothing of" in lakelogic("approvals", "list", contract).stderr


def test_a_mistake_in_the_file_is_told_before_anything_runs_and_a_held_batch_can_be_given_up(
    lakelogic: Any, tmp_path: Path
) -> None:
    registry = _estate(tmp_path)
    (tmp_path / "wrong.ok").write_text("approved\n")
    wrong = lakelogic("pipeline", "--registry", registry, "--approval-file", str(tmp_path / "wrong.ok"))
    assert (wrong.code, "wrong.ok:1:1: LL502" in wrong.stderr, (tmp_path / "lake").exists()) == (2, True, False)
    contract = str(tmp_path / "orders.yaml")
    first = lakelogic("run", contract, "--engine", "duckdb", "--approval-required")
    assert (first.code, "orders: held" in first.stdout) == (5, True)
    discard = ("approvals", "discard", "2", contract, "--engine", "duckdb", "--by", "bob", "--reason", "cut off")
    assert (lakelogic(*discard).code, lakelogic(*discard).code) == (0, 4)
    runs = json.loads(lakelogic("runs", contract, "--output", "json").stdout)
    assert [run["status"] for run in runs] == ["discarded", "held"]
    (tmp_path / "orders.csv").write_text("id\n1\n2\n")
    assert lakelogic("run", contract, "--engine", "duckdb", "--approval-required").code == 0
