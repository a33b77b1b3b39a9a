"""Validation of files as they are named: contracts one by one, folders and registries as an estate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lakelogic.contract.inherit import read_tree
from lakelogic.contract.mesh import DOMAIN_FILE, SYSTEM_FILE, check_file
from lakelogic.contract.pack_files import is_pack, read_pack
from lakelogic.contract.policy_pack import PACK_FOLDER, PackChoice
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
    packs: int = 0


def validate_paths(
    paths: Sequence[Path],
    *,
    env: str | None = None,
    stage: str | None = None,
    overrides: Sequence[str] = (),
    packs: PackChoice | None = None,
) -> Validated:
    """Every mistake and warning. A contract by itself may name datasets that only its estate knows."""
    above = [path for path in paths if path.name in _ABOVE]
    others = list(dict.fromkeys(path for path in paths if path.name not in _ABOVE and not is_pack(path)))
    problems = [problem for path in above for problem in _validate_above(path)]
    found = [read_pack(path) for path in _find_packs(paths)]
    in_packs = [problem for pack in found for problem in pack.problems]
    if any(path.is_dir() or is_registry(path) for path in others):
        estate, _ = check_estate(read_estate(others, env=env, stage=stage, overrides=overrides, packs=packs))
        problems += [*estate.problems, *in_packs]
        return Validated(tuple(dict.fromkeys(problems)), estate.files, len(found))
    for path in sorted(others):
        problems += validate_contract(path, env=env, stage=stage, overrides=overrides, packs=packs)
    return Validated(tuple(dict.fromkeys([*problems, *in_packs])), len(others), len(found))


def _find_packs(paths: Sequence[Path]) -> list[Path]:
    """Packs as they are named, and all of the folders that are named."""
    inside = [file for path in paths if path.is_dir() for file in path.rglob("*.y*ml")]
    found = [path for path in [*paths, *inside] if path.absolute().parent.name == PACK_FOLDER]
    return sorted(dict.fromkeys(path for path in found if is_pack(path)))


def _validate_above(path: Path) -> list[Problem]:
    problems: list[Problem] = []
    tree = read_tree(path, None, problems, path.name)
    return problems if tree is None else problems + check_file(tree, path.name)
