"""Every command and every snippet that README and docs show does what they say."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Snippet:
    language: str
    text: str


def documents() -> list[Path]:
    places = [REPO / "README.md", *(REPO / "docs").rglob("*.md"), *(REPO / "examples").rglob("*.md")]
    return sorted(path for path in places if any(_runnable(path)))


def snippets(path: Path, *languages: str) -> list[Snippet]:
    found = (Snippet(*match.groups()) for match in FENCE.finditer(path.read_text(encoding="utf-8")))
    return [snippet for snippet in found if snippet.language in languages]


def _runnable(path: Path) -> Iterator[Snippet]:
    yield from snippets(path, "console", "python")


def _command_lines(snippet: Snippet) -> list[str]:
    if snippet.language == "python":
        return [f"{shlex.quote(sys.executable)} -c {shlex.quote(snippet.text)}"]
    return [line.removeprefix("$ ") for line in snippet.text.splitlines() if line.startswith("$ ")]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(REPO)))
def test_every_command_shown_works(document: Path, shell: Any, spark_ready: bool) -> None:
    if not spark_ready:
        pytest.skip("the documents show commands that start Spark; `lakelogic doctor` says what is missing")
    for snippet in _runnable(document):
        for line in _command_lines(snippet):
            done = shell(line)
            assert done.returncode == 0, f"$ {line}\n{done.stdout}\n{done.stderr}"
            assert "Traceback" not in done.stderr


def test_the_contract_of_the_readme_gives_the_result_of_the_readme(shell: Any, workplace: Path) -> None:
    from deltalake import DeltaTable

    shell("lakelogic init shop")
    readme = (REPO / "README.md").read_text(encoding="utf-8")
    (workplace / "shop" / "readme.yaml").write_text(snippets(REPO / "README.md", "yaml")[0].text)
    done = shell("lakelogic run shop/readme.yaml --engine duckdb --output json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    shown = {}
    for line in readme.splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split(" | ")]
        if re.match(r"C\d+$", cells[0]):
            shown[cells[0]] = cells[-1].strip("` |")
    rows = DeltaTable(result["quarantine"]["path"]).to_pyarrow_table().to_pylist()
    assert {row["customer_id"]: " ".join(row["_lakelogic_errors"]) for row in rows} == shown
    assert result["counts"] == {"read": 7, "accepted": 3, "quarantined": 4}


def test_the_scaffold_is_the_contract_of_the_readme() -> None:
    """One example, told once: whoever changes one changes the other."""
    from lakelogic.contract.loader import load_draft

    text = snippets(REPO / "README.md", "yaml")[0].text
    template = REPO / "src" / "lakelogic" / "onboard" / "templates" / "contract.yaml"
    ours = load_draft(template, text=text).contract
    theirs = load_draft(template).contract
    assert ours is not None and theirs is not None
    assert ours.model_dump(exclude={"version"}) == theirs.model_dump(exclude={"version"})


def test_generated_pages_are_current() -> None:
    sys.path.insert(0, str(REPO / "docs"))
    try:
        from generate import settings_table
    finally:
        sys.path.pop(0)
    assert settings_table() in (REPO / "docs" / "setup.md").read_text(encoding="utf-8")


def test_links_between_documents_lead_somewhere() -> None:
    dead = []
    for path in [*REPO.glob("*.md"), *(REPO / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", path.read_text(encoding="utf-8")):
            if not (path.parent / target).exists():
                dead.append(f"{path.relative_to(REPO)}: {target}")
    assert dead == []
