"""A pipeline run as annotations of GitHub Actions: lines that it shows at the place of the mistake."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from lakelogic.core.errors import Place, Problem
from lakelogic.core.pipeline_run import ContractRun, PipelineRun

Level = Literal["error", "warning"]


def render_github(run: PipelineRun, root: Path) -> str:
    """One line for each contract that did not end well and for each mistake; paths are relative to `root`."""
    return "".join(f"{line}\n" for line in _lines(run, root))


def _lines(run: PipelineRun, root: Path) -> Iterator[str]:
    for contract in run.contracts:
        if not contract.ended_well:
            yield _of_contract(contract, root)
    for problem in run.problems:
        yield _annotation("error", problem.place, problem.code, _tell(problem), root)


def _of_contract(contract: ContractRun, root: Path) -> str:
    level: Level = "warning" if contract.status == "skipped" else "error"
    problem = contract.problem
    place = (problem.place if problem else None) or contract.place
    told = _tell(problem) if problem else contract.reason or ""
    title = f"{contract.dataset}: {contract.status.replace('_', ' ')}"
    return _annotation(level, place, title, told, root)


def _tell(problem: Problem) -> str:
    return f"{problem.code} {problem.message}" + (f"\nhint: {problem.hint}" if problem.hint else "")


def _annotation(level: Level, place: Place | None, title: str, text: str, root: Path) -> str:
    about = {}
    if place is not None:
        about = {"file": _relative(place.file, root), "line": str(place.line), "col": str(place.column)}
    about["title"] = title
    properties = ",".join(f"{name}={_escape_property(value)}" for name, value in about.items())
    return f"::{level} {properties}::{_escape(text)}"


def _relative(file: str, root: Path) -> str:
    # As text, not by resolving links: GitHub knows files by the names in the repository.
    path, base = os.path.abspath(file), os.path.abspath(root)
    inside = path == base or path.startswith(base.rstrip(os.sep) + os.sep)
    return Path(os.path.relpath(path, base) if inside else file).as_posix()


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
