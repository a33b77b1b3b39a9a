"""Validation of files as they are named: contracts one by one, folders and registries as an estate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lakelogic.contract.inherit import read_tree
from lakelogic.contract.mesh import DOMAIN_FILE, SYSTEM_FILE, check_file
from lakelogic.core.errors import Problem
from lakelogic.driver.checks import check_estate
from lakelogic.driver.estate import read_estate
from lakelogic.driver.files import is_registry
from lakelogic.run.validate import validate_contract

_ABOVE = (DOMAIN_FILE, SYSTEM_FILE)


@dataclass(frozen=True, slots=True)
class Validated:
    """What was found, and in how many contracts."""

    problems: tuple[Problem, ...]
    contracts: int


def validate_paths(
    paths: Sequence[Path], *, env: str | None = None, stage: str | None = None, overrides: Sequence[str] = ()
) -> Validated:
    """Every mistake and warning. A contract by itself may name datasets that only its estate knows."""
    above = [path for path in paths if path.name in _ABOVE]
    others = list(dict.fromkeys(path for path in paths if path.name not in _ABOVE))
    problems = [problem for path in above for problem in _validate_above(path)]
    if any(path.is_dir() or is_registry(path) for path in others):
        estate, _ = check_estate(read_estate(others, env=env, stage=stage, overrides=overrides))
        problems += estate.problems
        return Validated(tuple(problems), estate.files)
    for path in sorted(others):
        problems += validate_contract(path, env=env, stage=stage, overrides=overrides)
    return Validated(tuple(problems), len(others))


def _validate_above(path: Path) -> list[Problem]:
    problems: list[Problem] = []
    tree = read_tree(path, None, problems, path.name)
    return problems if tree is None else problems + check_file(tree, path.name)
