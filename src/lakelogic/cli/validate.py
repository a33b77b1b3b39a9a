"""`lakelogic validate`: every mistake of every contract, before any data moves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lakelogic.cli.options import Debug, Env, Output, OutputFormat, Overrides, Quiet, StageName
from lakelogic.cli.packs import PolicyPack, PolicyPackDir, pack_choice
from lakelogic.cli.render import print_json, print_text, say
from lakelogic.core.errors import Problem

EXIT_MISTAKES = 2

Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="CONTRACT...", help="Contracts, registries, or folders that are searched for them.", show_default=False
    ),
]


def validate_command(
    paths: Paths,
    env: Env = None,
    stage: StageName = None,
    overrides: Overrides = None,
    policy_pack: PolicyPack = None,
    policy_pack_dir: PolicyPackDir = None,
    output: Output = OutputFormat.TABLE,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Report all mistakes in contracts, without starting an engine; a warning does not fail.

    The contracts of a folder or a registry are also looked at together: datasets that two contracts claim or that
    nobody has, circles, tables with two writers, files that are not there.

    \b
    Examples:
      lakelogic validate contract.yaml
      lakelogic validate contracts/ --env prod
      lakelogic validate contracts/insurance/_registry.yaml
      lakelogic validate contract.yaml --output json
    """
    from lakelogic.driver.validate import validate_paths

    packs = pack_choice(policy_pack, policy_pack_dir)
    found = validate_paths(paths, env=env, stage=stage, overrides=tuple(overrides or ()), packs=packs)
    problems = found.problems
    if output is OutputFormat.JSON:
        print_json([_as_dict(problem) for problem in problems])
    else:
        for problem in problems:
            print_text(str(problem))
    mistakes = sum(problem.severity == "error" for problem in problems)
    if not quiet:
        say(_summary(found.contracts, found.packs, mistakes, len(problems) - mistakes))
    if mistakes:
        raise typer.Exit(EXIT_MISTAKES)


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


def _summary(contracts: int, packs: int, mistakes: int, warnings: int) -> str:
    if not contracts and not packs and not mistakes:
        return "no contracts found"
    told = [_count(mistakes, "mistake") if mistakes else "no mistakes"]
    told += [_count(warnings, "warning")] if warnings else []
    looked_at = [_count(contracts, "contract")] if contracts or not packs else []
    looked_at += [_count(packs, "policy pack")] if packs else []
    return f"{' and '.join(looked_at)} checked, {', '.join(told)}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' if number != 1 else ''}"
