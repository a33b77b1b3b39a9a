"""validate, init, doctor, version, help."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from lakelogic.core.errors import Place, Problem, RunError
from lakelogic.driver.files import find_contracts

COMMANDS = [
    ["run"],
    ["validate"],
    ["explain"],
    ["dag"],
    ["pipeline"],
    ["ddl"],
    ["maintain"],
    ["reset"],
    ["reload"],
    ["dates"],
    ["schema"],
    ["init"],
    ["doctor"],
    ["runs", "list"],
    ["runs", "show"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_shows_examples(lakelogic: Any, command: list[str]) -> None:
    outcome = lakelogic(*command, "--help")
    assert outcome.code == 0
    assert f"lakelogic {command[0]}" in outcome.stdout.partition("Examples:")[2]


def test_version_names_the_program(lakelogic: Any) -> None:
    assert lakelogic("version").stdout.startswith("lakelogic 0.")
    assert lakelogic("--version").stdout == lakelogic("version").stdout


@pytest.fixture
def problems(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Problem, ...]]:
    found: dict[str, tuple[Problem, ...]] = {}
    module = ModuleType("lakelogic.driver.validate")
    module.validate_paths = lambda paths, **_: SimpleNamespace(  # type: ignore[attr-defined]
        problems=[problem for each in found.values() for problem in each], packs=0, contracts=len(paths)
    )
    monkeypatch.setitem(sys.modules, "lakelogic.driver.validate", module)
    return found


def test_validate_prints_place_code_message_and_hint(
    lakelogic: Any, problems: dict[str, tuple[Problem, ...]], tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").touch()
    problems["a.yaml"] = (Problem("LL111", "no such key `sorce`", Place("a.yaml", 3, 1, "sorce"), "`source`?"),)
    outcome = lakelogic("validate", str(tmp_path / "a.yaml"))
    assert outcome.code == 2
    assert outcome.stdout == "a.yaml:3:1: LL111 no such key `sorce`\n    hint: `source`?\n"
    assert "1 mistake" in outcome.stderr


def test_validate_gives_json(lakelogic: Any, problems: dict[str, tuple[Problem, ...]], tmp_path: Path) -> None:
    (tmp_path / "a.yaml").touch()
    problems["a.yaml"] = (Problem("LL111", "wrong", Place("a.yaml", 3, 1, "sorce")),)
    told = json.loads(lakelogic("validate", str(tmp_path), "--output", "json").stdout)
    assert told == [
        {
            "code": "LL111",
            "severity": "error",
            "message": "wrong",
            "file": "a.yaml",
            "line": 3,
            "column": 1,
            "path": "sorce",
            "hint": None,
        }
    ]


def test_validate_says_all_is_well(lakelogic: Any, problems: dict[str, tuple[Problem, ...]], tmp_path: Path) -> None:
    (tmp_path / "a.yaml").touch()
    outcome = lakelogic("validate", str(tmp_path))
    assert (outcome.code, outcome.stdout) == (0, "")
    assert "no mistakes" in outcome.stderr


def test_a_warning_is_told_and_fails_nothing(
    lakelogic: Any, problems: dict[str, tuple[Problem, ...]], tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").touch()
    problems["a.yaml"] = (Problem("LL181", "mind this", Place("a.yaml", 3, 1), severity="warning"),)
    outcome = lakelogic("validate", str(tmp_path))
    assert (outcome.code, outcome.stdout) == (0, "a.yaml:3:1: warning LL181 mind this\n")
    assert "no mistakes, 1 warning" in outcome.stderr


def test_a_folder_is_searched_for_contracts(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "_system.yaml", "x.csv", ".git/c.yaml", "sub/d.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [str(path.relative_to(tmp_path)) for path in find_contracts([tmp_path])] == [
        "a.yaml",
        "b.yml",
        "sub/d.yaml",
    ]


def test_init_writes_a_project_and_never_over_one(lakelogic: Any, tmp_path: Path) -> None:
    first = lakelogic("init", str(tmp_path / "p"))
    assert first.code == 0
    assert (tmp_path / "p" / "contract.yaml").is_file()
    assert (tmp_path / "p" / "data" / "customers.csv").is_file()
    (tmp_path / "p" / "contract.yaml").write_text("mine")
    again = lakelogic("init", str(tmp_path / "p"))
    assert (again.code, (tmp_path / "p" / "contract.yaml").read_text()) == (4, "mine")


def test_doctor_names_what_is_missing_and_how_to_get_it(
    lakelogic: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("LAKELOGIC_JARS", str(tmp_path))
    outcome = lakelogic("doctor", "--output", "json")
    told = json.loads(outcome.stdout)
    missing = {finding["name"]: finding["hint"] for finding in told["findings"] if finding["state"] == "missing"}
    assert (outcome.code, told["ready"]) == (4, False)
    assert set(missing) == {"java", "delta jars"}
    assert "JAVA_HOME" in missing["java"] and "LAKELOGIC_JARS" in missing["delta jars"]


def test_doctor_does_not_ask_for_java_where_duckdb_runs(
    lakelogic: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert lakelogic("doctor", "--engine", "duckdb").code == 0


def test_setup_that_reaches_nothing_names_the_ways_out(
    lakelogic: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def unreachable(*_: object) -> None:
        raise RunError("could not be fetched: Host not found", code="LL493")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("LAKELOGIC_JARS", raising=False)
    monkeypatch.setattr("lakelogic.onboard.fetch_jars._resolve", unreachable)
    outcome = lakelogic("setup")
    assert outcome.code == 4
    for told in ("Host not found", "DEFAULT_ARTIFACT_REPOSITORY", "LAKELOGIC_JARS", "--engine duckdb"):
        assert told in outcome.stderr
    assert list((tmp_path / "lakelogic").iterdir()) == []


def test_doctor_never_shows_the_key(lakelogic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELOGIC_PII_KEY", "tell-nobody-0815")
    outcome = lakelogic("doctor", "--output", "json")
    assert "tell-nobody" not in outcome.stdout + outcome.stderr


def test_help_imports_nothing_heavy() -> None:
    heavy = ("pyspark", "duckdb", "polars", "deltalake", "pyarrow", "sqlglot", "ruamel", "pandas")
    code = f"import sys; import lakelogic.cli.main; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
