"""`validate`, `dag` and `schema` on an estate, as a person types them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CONTRACTS = {
    "bronze.yaml": "dataset: bronze_a\nsource: { path: in.csv }\nmaterialization: { target_path: lake/bronze_a }\n",
    "silver.yaml": (
        "dataset: silver_a\nsource: { path: lake/bronze_a }\nmaterialization: { target_path: lake/silver_a }\n"
    ),
    "_registry.yaml": "entries: [{ entity: a, contracts: { bronze: bronze.yaml, silver: silver.yaml } }]\n",
}


@pytest.fixture
def estate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = Path("c")
    folder.mkdir()
    for name, text in CONTRACTS.items():
        (folder / name).write_text(text)
    return folder


def test_validate_looks_at_the_whole(lakelogic: Any, estate: Path) -> None:
    good = lakelogic("validate", "c")
    assert (good.code, good.stderr) == (0, "2 contracts checked, no mistakes\n")
    (estate / "bronze.yaml").write_text(
        "dataset: bronze_a\nupstream: [silver_a]\nmaterialization: { target_path: lake/bronze_a }\n"
    )
    bad = lakelogic("validate", "c/_registry.yaml")
    assert bad.code == 2
    lines = bad.stdout.splitlines()
    assert lines[0] == "c/silver.yaml:2:17: LL173 datasets go in a circle: bronze_a -> silver_a -> bronze_a"
    assert "c/bronze.yaml:2:12" in lines[1]


DRAWN: list[tuple[list[str], Callable[[str], bool]]] = [
    ([], lambda out: out == "bronze_a [bronze]\n└─ silver_a [silver]\n"),
    (["--format", "mermaid"], lambda out: out.startswith("flowchart LR")),
    (["--format", "dot"], lambda out: out.startswith("digraph")),
    (["--format", "html"], lambda out: out.startswith("<!doctype html>")),
    (["--format", "json"], lambda out: len(json.loads(out)["edges"]) == 1),
    (["--output", "json", "--select", "silver_a"], lambda out: len(json.loads(out)["datasets"]) == 1),
    (["--layers", "bronze"], lambda out: out == "bronze_a [bronze]\n"),
]


@pytest.mark.parametrize(("options", "holds"), DRAWN, ids=[" ".join(options) for options, _ in DRAWN])
def test_dag_draws(lakelogic: Any, estate: Path, options: list[str], holds: Callable[[str], bool]) -> None:
    outcome = lakelogic("dag", "c", *options)
    assert outcome.code == 0 and holds(outcome.stdout)


def test_dag_takes_registries_by_option(lakelogic: Any, estate: Path) -> None:
    assert lakelogic("dag", "--registry", "c/_registry.yaml").stdout == lakelogic("dag", "c").stdout
    assert lakelogic("dag").code == 2


@pytest.mark.parametrize("kind", ["registry", "domain", "system"])
def test_schema_of_the_files_above(lakelogic: Any, kind: str) -> None:
    assert json.loads(lakelogic("schema", "--of", kind).stdout)["title"] == f"LakeLogic {kind}"
