"""`verify` runs engines in places of their own and finds every difference that a reader of the tables could see."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
import yaml
from deltalake import write_deltalake

from lakelogic.cli.main import main
from lakelogic.core.errors import RunError
from lakelogic.core.keys import derive_keys
from lakelogic.core.settings import Settings, read_settings
from lakelogic.engine.duckdb.compare import Comparing, TableComparer
from lakelogic.engine.polars.engine import PolarsEngine
from lakelogic.run.certificate import Certificate, Input
from lakelogic.run.validate import load_checked
from lakelogic.run.verify import Verifying, verify_contract

CONTRACT: dict[str, Any] = {
    "version": "1.2.0",
    "dataset": "people",
    "source": {"path": "input.csv"},
    "model": {
        "fields": [
            {"name": "id", "type": "int", "primary_key": True},
            {"name": "email", "type": "string", "pii": True},
            {"name": "score", "type": "double"},
            {"name": "born", "type": "date"},
        ]
    },
    "transformations": [{"filter": "id <> 3"}, {"derive": {"half": "score / 2"}, "phase": "post"}],
    "quality": {"row_rules": [{"name": "has_at", "sql": "email LIKE '%@%'"}]},
    "materialization": {"target_path": "out/people", "partition_by": ["born"]},
}
ROWS = "id,email,score,born\n1,ada@x.org,-0.0,1990-01-01\n2,bob@x.org,2.5,1991-01-01\n3,c@x,1,\n4,nobody,x,1990-01-01\n"


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    (tmp_path / "input.csv").write_text(ROWS, encoding="utf-8")
    return write(tmp_path, CONTRACT)


def write(folder: Path, contract: dict[str, Any]) -> Path:
    path = folder / "contract.yaml"
    path.write_text(yaml.safe_dump(contract), encoding="utf-8")
    return path


def verify(contract: Path, *engines: str, settings: Settings | None = None, **more: Any) -> Certificate:
    settings = settings or Settings()
    return verify_contract(load_checked(contract, settings=settings), Verifying(engines, settings, **more))


@pytest.fixture
def wrong_polars(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Make Polars find other text in the source than is there."""

    def change(old: str, new: str) -> None:
        stage = PolarsEngine.stage

        def stage_other(engine: Any, plan: Any, source: Any, *more: Any, **named: Any) -> Any:
            path = Path(source.slice.files[0].path)
            before, seen = path.read_text(encoding="utf-8"), path.stat()
            path.write_text(before.replace(old, new), encoding="utf-8")
            try:
                return stage(engine, plan, source, *more, **named)
            finally:
                path.write_text(before, encoding="utf-8")
                os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))

        monkeypatch.setattr(PolarsEngine, "stage", stage_other)

    return change


def test_engines_that_agree_get_a_certificate_and_leave_nothing_behind(
    contract: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before, scratch = sorted(contract.parent.rglob("*")), tmp_path_factory.mktemp("scratch")

    found = verify(contract, "duckdb", "polars", scratch=str(scratch))

    assert (found.verdict, found.differences) == ("equal", ())
    assert found.rows == {"target": 2, "quarantine": 1}
    # Of contents and names of files; not of where they lie, nor when they were written.
    assert found.input == Input(f"1 file, {len(ROWS)} B", _digest_of("input.csv", ROWS))
    assert [run.outcome for run in found.runs] == ["succeeded", "succeeded"]
    assert sorted(contract.parent.rglob("*")) == before and not list(scratch.iterdir())


def _digest_of(name: str, content: str) -> str:
    of_file = f"{name} sha256:{hashlib.sha256(content.encode()).hexdigest()}"
    return f"sha256:{hashlib.sha256(of_file.encode()).hexdigest()}"


def test_a_run_that_was_there_before_is_left_alone(contract: Path, lakelogic: Any) -> None:
    assert lakelogic("run", str(contract), "--engine", "duckdb").code == 0
    state = {path: path.stat().st_mtime_ns for path in contract.parent.rglob("*")}

    outcome = lakelogic("verify", str(contract), "--engines", "duckdb,polars", "--output", "json")

    assert outcome.code == 0
    told = json.loads(outcome.stdout)
    assert (told["verdict"], told["rows_compared"]) == ("equal", {"target": 2, "quarantine": 1})
    assert {path: path.stat().st_mtime_ns for path in contract.parent.rglob("*")} == state


@pytest.mark.parametrize(
    ("old", "new", "what", "column"),
    [
        ("-0.0", "00.0", {"target rows"}, "score"),
        ("4,nobody,x", "4,nobody,y", {"quarantine rows"}, "score"),
        ("2,bob@x.org", "3,bob@x.org", {"target rows", "counts", "ledger"}, "id"),
    ],
)
def test_an_engine_that_gives_something_else_is_found(
    contract: Path, wrong_polars: Any, old: str, new: str, what: set[str], column: str
) -> None:
    wrong_polars(old, new)

    found = verify(contract, "duckdb", "polars")

    assert found.verdict == "different"
    assert {each.what for each in found.differences} == what
    rows = next(each for each in found.differences if each.what.endswith("rows"))
    assert column in rows.pairs[0].differing


def test_differing_rows_stand_side_by_side_without_personal_data(
    contract: Path, wrong_polars: Any, lakelogic: Any
) -> None:
    wrong_polars("ada@x.org", "eve@x.org")

    outcome = lakelogic("verify", str(contract), "--engines", "duckdb,polars")

    assert outcome.code == 5
    assert "the engines DIFFER" in outcome.stdout
    marked = [line for line in outcome.stdout.splitlines() if "│ *" in line]
    assert len(marked) == 1 and "email" in marked[0] and marked[0].count("hidden:") == 2
    for personal in ("ada", "eve@", "bob", "nobody"):
        assert personal not in outcome.stdout + outcome.stderr


def test_encrypted_values_are_compared_by_what_they_hide(contract: Path, wrong_polars: Any) -> None:
    fields = [{**f, "masking": "encrypt"} if f["name"] == "email" else f for f in CONTRACT["model"]["fields"]]
    write(contract.parent, {**CONTRACT, "model": {"fields": fields}})
    settings = read_settings({"LAKELOGIC_PII_KEY": "a key that is long enough"})

    assert verify(contract, "duckdb", "polars", settings=settings).verdict == "equal"

    wrong_polars("4,nobody", "4,no one")
    found = verify(contract, "duckdb", "polars", settings=settings)
    assert [each.what for each in found.differences] == ["quarantine rows"]
    assert {"email", "_lakelogic_id"} <= set(found.differences[0].pairs[0].differing)


def test_a_refusal_is_no_agreement(contract: Path, lakelogic: Any) -> None:
    steps = [{"derive": {"total": "aggregate(array(1, 2), 0, (a, x) -> a + x)"}, "phase": "post"}]
    write(contract.parent, {**CONTRACT, "transformations": steps})
    arguments = ("verify", str(contract), "--engines", "duckdb,polars")

    refused, allowed = lakelogic(*arguments), lakelogic(*arguments, "--allow-refusals")

    assert (refused.code, allowed.code) == (3, 0)
    assert "polars refused: LL310" in refused.stdout
    assert "nothing was compared" in allowed.stdout


def test_what_every_engine_refuses_is_told_as_a_run_tells_it(contract: Path, lakelogic: Any) -> None:
    steps = [{"derive": {"x": "no_such_function(id)"}, "phase": "post"}]
    write(contract.parent, {**CONTRACT, "transformations": steps})
    arguments = (str(contract), "--quiet")

    verified = lakelogic("verify", *arguments, "--engines", "polars,duckdb")
    run = lakelogic("run", *arguments, "--engine", "polars")

    assert (verified.code, verified.stderr) == (run.code, run.stderr)
    assert verified.code == 3


def test_one_engine_cannot_be_compared(contract: Path) -> None:
    for engines in (("duckdb",), ("duckdb", "duckdb")):
        with pytest.raises(RunError, match="at least two different engines"):
            verify(contract, *engines)
    with pytest.raises(RunError, match="unknown engine `oracle`"):
        verify(contract, "duckdb", "oracle")


def test_a_contract_without_a_target_can_be_verified(contract: Path) -> None:
    write(contract.parent, {name: value for name, value in CONTRACT.items() if name != "materialization"})

    assert verify(contract, "duckdb", "polars").rows == {"target": 2, "quarantine": 1}


def test_a_closed_gate_is_the_same_on_all_engines(contract: Path, wrong_polars: Any) -> None:
    write(contract.parent, {**CONTRACT, "quarantine": {"fail_on_quarantine": True}})

    assert [run.outcome for run in verify(contract, "duckdb", "polars").runs] == ["gate_failed", "gate_failed"]
    wrong_polars("4,nobody,x", "3,nobody,1")
    assert "status" in {each.what for each in verify(contract, "duckdb", "polars").differences}


def test_rows_are_compared_as_bags(tmp_path: Path) -> None:
    nan, naught = float("nan"), -0.0
    left = pa.table({"n": [1, 1, 2, None], "f": [nan, nan, 0.0, None], "l": [["a, b"], None, [], ["a"]]})
    same = left.take(pa.array([3, 2, 1, 0]))
    once = pa.table({"n": [1, 2, 2, None], "f": [nan, naught, 0.0, None], "l": [["a", "b"], [], [], ["a"]]})
    for name, table in {"left": left, "same": same, "once": once.cast(left.schema)}.items():
        write_deltalake(tmp_path / name, table)
    comparer = TableComparer(derive_keys(None))

    assert comparer.compare(str(tmp_path / "left"), str(tmp_path / "same"), Comparing()).equal
    found = comparer.compare(str(tmp_path / "left"), str(tmp_path / "once"), Comparing())
    absent = comparer.compare(str(tmp_path / "left"), str(tmp_path / "absent"), Comparing())
    comparer.close()

    assert (found.rows, found.only_left, found.only_right) == ((4, 4), 2, 2)
    assert (absent.only_left, absent.only_right) == (4, 0)


@pytest.fixture
def lakelogic(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> Any:
        monkeypatch.setattr(sys, "argv", ["lakelogic", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return SimpleNamespace(code=ended.value.code, stdout=captured.out, stderr=captured.err)

    return call


def test_spark_agrees(contract: Path, spark_session: Any, spark_settings: Settings) -> None:
    found = verify(contract, "spark", "duckdb", "polars", settings=spark_settings, spark=spark_session)

    assert [each.what for each in found.differences] == []
    assert (found.verdict, found.rows) == ("equal", {"target": 2, "quarantine": 1})
