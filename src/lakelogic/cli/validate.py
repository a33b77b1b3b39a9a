"""`lakelogic validate`: every mistake of every contract, before any data moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakelogic.cli.options import Debug, Env, Output, OutputFormat, Overrides, Quiet, StageName
from lakelogic.cli.render import print_json, print_text, say
from lakelogic.core.errors import Problem

if TYPE_CHECKING:
    Problems = dict[Path, tuple[Problem, ...]]

EXIT_MISTAKES = 2

Paths = Annotated[
    list[Path],
    typer.Argument(metavar="CONTRACT...", help="Contracts, or folders that are searched for them.", show_default=False),
]


def validate_command(
    paths: Paths,
    env: Env = None,
    stage: StageName = None,
    overrides: Overrides = None,
    output: Output = OutputFormat.TABLE,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Report all mistakes in contracts, without starting an engine; a warning does not fail.

    \b
    Examples:
      lakelogic validate contract.yaml
      lakelogic validate contracts/ --env prod
      lakelogic validate contract.yaml --output json
    """
    from lakelogic.run.validate import validate_contract

    found: Problems = {}
    for path in sorted(set(find_contracts(paths))):
        found[path] = validate_contract(path, env=env, stage=stage, overrides=tuple(overrides or ()))
    problems = [problem for path in found for problem in found[path]]
    if output is OutputFormat.JSON:
        print_json([_as_dict(problem) for problem in problems])
    else:
        for problem in problems:
            print_text(str(problem))
    mistakes = sum(problem.severity == "error" for problem in problems)
    if not quiet:
        say(_summary(found, mistakes, len(problems) - mistakes))
    if mistakes:
        raise typer.Exit(EXIT_MISTAKES)


def find_contracts(paths: Iterable[Path]) -> Iterator[Path]:
    """Files as they are named; of a folder, its YAML files that are contracts."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for file in sorted([*path.rglob("*.yaml"), *path.rglob("*.yml")]):
            if not _is_hidden(file.relative_to(path)):
                yield file


def _is_hidden(path: Path) -> bool:
    # `_system.yaml`, `_lakelogic/` and `.git/` are not contracts.
    return any(part.startswith((".", "_")) for part in path.parts)


def _as_dict(problem: Problem) -> dict[str, Any]:
    place = problem.place
    return {
        "code": problem.code,
        "severity": problem.severity,
        "message": problem.message,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "path": (place.path or None) if place else None,
        "hint": problem.hint,
    }


def _summary(found: Problems, mistakes: int, warnings: int) -> str:
    if not found:
        return "no contracts found"
    told = [_count(mistakes, "mistake") if mistakes else "no mistakes"]
    told += [_count(warnings, "warning")] if warnings else []
    return f"{_count(len(found), 'contract')} checked, {', '.join(told)}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' if number != 1 else ''}"
