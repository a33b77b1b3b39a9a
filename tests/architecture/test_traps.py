"""The page of traps names tests that are there, for every trap; what it calls not built is refused."""

from __future__ import annotations

import re
from pathlib import Path

from lakelogic.contract.unsupported import _UNSUPPORTED

REPO = Path(__file__).resolve().parents[2]
_ROW = re.compile(r"^\| (\d+) \| .+? \| (.+) \|$", re.MULTILINE)


def _guards() -> dict[int, str]:
    page = (REPO / "docs" / "reference" / "traps.md").read_text(encoding="utf-8")
    return {int(number): guards for number, guards in _ROW.findall(page)}


def _is_there(name: str) -> bool:
    if not name.startswith("tests/"):
        return (REPO / "tests" / "cases" / name / "contract.yaml").is_file()
    path, _, test = name.partition("::")
    return (REPO / path).is_file() and (not test or f"def {test}(" in (REPO / path).read_text(encoding="utf-8"))


def test_every_trap_has_a_guard_that_is_there() -> None:
    guards = _guards()
    assert sorted(guards) == list(range(1, 31))
    for number, text in guards.items():
        built = re.sub(r"not built: `[^`]+`", "", text)
        names = re.findall(r"`([^`]+)`", built)
        assert names or "not built" in text, number
        assert [name for name in names if not _is_there(name)] == [], number


def test_what_is_called_not_built_is_refused() -> None:
    refused = {refusal.path for refusal in _UNSUPPORTED}
    named = [key for text in _guards().values() for key in re.findall(r"not built: `([^`]+)`", text)]
    # Whoever builds one of these writes the test of its trap, and names it on the page.
    assert [key for key in named if key not in refused] == []
