"""What must not stand in the repository, and what must."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
# Put together from pieces, so that this file does not hold what it looks for.
REGISTRY_HOSTS = re.compile(
    "|".join(
        re.escape(".".join(parts))
        for parts in (
            ("repo1", "maven", "org"),
            ("repo", "maven", "apache", "org"),
            ("repos", "spark-packages", "org"),
            ("pypi", "org"),
            ("files", "pythonhosted", "org"),
            ("registry", "npmjs", "org"),
            ("docker", "io"),
        )
    )
)
MACHINE_PATHS = re.compile(
    "|".join(
        (
            "/" + "root/",
            "/" + "home/[a-z]",
            "/" + "Users/[A-Za-z]",
            "/" + "work/(main|shared)",
            "/" + "tmp/proto",
        )
    )
)

# Used by two packages, each time with the same meaning; this list may only shrink.
SHARED_CODES = {
    "LL431", "LL432", "LL470", "LL900",  # each with one meaning, found in two places
}  # fmt: skip


def tracked_files() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip("not a git work tree: cannot tell our files from outputs")
    return [path for name in done.stdout.splitlines() if (path := REPO / name).is_file()]


def _matches(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", errors="replace")
        found += [f"{path.relative_to(REPO)}: {match.group()}" for match in pattern.finditer(text)]
    return found


def test_no_registry_host_is_named() -> None:
    assert _matches(REGISTRY_HOSTS) == []


def test_no_path_of_a_machine_is_named() -> None:
    assert _matches(MACHINE_PATHS) == []


def test_constraints_hold_names_and_versions_only() -> None:
    lines = (REPO / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.]*", pin)] == []


def _codes() -> dict[str, set[str]]:
    """Each error code, and the packages that use it."""
    source = REPO / "src" / "lakelogic"
    codes: dict[str, set[str]] = {}
    for path in source.rglob("*.py"):
        for code in re.findall(r"\bLL\d{3}\b", path.read_text(encoding="utf-8")):
            codes.setdefault(code, set()).add(path.relative_to(source).parts[0])
    return codes


def test_every_error_code_is_explained() -> None:
    page = (REPO / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| (LL\d{3}) \|", page, re.MULTILINE))
    assert sorted(_codes().keys() - explained) == []
    assert sorted(explained - _codes().keys()) == []


def test_no_further_code_gets_two_meanings() -> None:
    shared = {code for code, packages in _codes().items() if len(packages) > 1}
    assert sorted(shared - SHARED_CODES) == []


def test_ci_runs_the_command_of_the_readme() -> None:
    assert "exec make test" in (REPO / ".ci" / "run").read_text(encoding="utf-8")
    assert "make test" in (REPO / "README.md").read_text(encoding="utf-8")
