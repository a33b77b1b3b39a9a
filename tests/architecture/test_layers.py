"""The structure of the code: who may import whom, how big a module may be, what may be called."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
SOURCE = REPO / "src" / "lakelogic"
LONGEST_MODULE = 400
FORBIDDEN_NAMES = {"utils", "util", "helper", "helpers", "manager", "base", "data", "info_", "common", "misc"}

# Calls that bring rows to the driver, break Spark Connect, keep rows that may be computed again, or give a row an
# identity that changes when they are. An entry here needs its reason.
FORBIDDEN_CALLS = re.compile(
    r"\.collect\(|\.toPandas\(|\._jvm\b|\._jsc\b|\.rdd\b|\.toLocalIterator\(|\.persist\(|\.cache\(\)"
    r"|\.localCheckpoint\(|monotonically_increasing_id\("
)
ALLOWED_CALLS = {
    "engine/local/frames.py": "a polars LazyFrame that the caller handed over; the engine runs in this process",
    "engine/polars/engine.py": "the frame that a caller asks for; Polars runs in this process",
    "engine/polars/joins.py": "numbers of rows that two branches of one query compare; gone with the query",
    "engine/polars/relations.py": "one row of numbers",
    "engine/polars/row_work.py": "counts for each file of a table",
    "engine/spark/archive.py": "a script that set-up runs on twenty made-up rows",
    "engine/spark/engine.py": "one row of numbers, the dataset checks",
    "engine/spark/read_table.py": "file actions of a Delta log",
    "engine/spark/tally.py": "one row of aggregates",
}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def test_imports_point_down_only() -> None:
    program = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([str(program), "--no-cache"], cwd=REPO, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_has_one_job(module: Path) -> None:
    assert len(module.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE


def test_no_module_is_a_drawer_for_everything() -> None:
    named = [str(module.relative_to(SOURCE)) for module in modules() if module.stem in FORBIDDEN_NAMES]
    assert named == []


def _calls(module: Path) -> Iterator[str]:
    for number, line in enumerate(module.read_text(encoding="utf-8").splitlines(), start=1):
        if FORBIDDEN_CALLS.search(line) and not line.lstrip().startswith("#"):
            yield f"{module.relative_to(SOURCE)}:{number}: {line.strip()}"


def test_rows_stay_where_they_are_computed() -> None:
    found = [
        call for module in modules() if str(module.relative_to(SOURCE)) not in ALLOWED_CALLS for call in _calls(module)
    ]
    assert found == []


def test_every_allowance_is_still_needed() -> None:
    assert [name for name in ALLOWED_CALLS if not list(_calls(SOURCE / name))] == []


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_blanket_except_stands_only_at_the_edge(module: Path) -> None:
    if module.relative_to(SOURCE).parts[0] in ("cli", "driver"):
        return
    caught = [
        node.lineno
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")))
        and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
    ]
    assert caught == []


def test_planning_asks_nobody() -> None:
    """Plan and contract modules that are pure take the clock, randomness and files as arguments."""
    asked = re.compile(r"^\s*(import|from) (os|time|random|uuid|socket|subprocess|pathlib)\b")
    found = [
        f"{module.relative_to(SOURCE)}:{number}"
        for module in sorted((SOURCE / "plan").rglob("*.py"))
        for number, line in enumerate(module.read_text(encoding="utf-8").splitlines(), start=1)
        if asked.match(line)
    ]
    assert found == []


def test_only_one_module_knows_the_bridge_to_a_jvm() -> None:
    # A client of Spark Connect has neither a JVM nor that package, and does the same work.
    named = [str(path.relative_to(SOURCE)) for path in modules() if "py4j" in path.read_text(encoding="utf-8")]
    assert named == ["core/jvm.py"]
