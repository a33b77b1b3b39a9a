"""Many contracts at once: what they share is read once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lakelogic.contract.contract import Contract
from lakelogic.contract.loader import load_draft
from lakelogic.contract.mesh import MeshFiles
from lakelogic.core.errors import Problem
from lakelogic.core.secrets import default_store
from lakelogic.run.validate import check_declared, position_of


@dataclass(frozen=True, slots=True)
class Wanted:
    """How contracts are loaded, and how closely they are looked at."""

    env: str | None = None
    stage: str | None = None
    overrides: tuple[str, ...] = ()
    checked: bool = True


@dataclass(frozen=True, slots=True)
class Loaded:
    """A contract as far as it could be understood, and what is wrong with it."""

    contract: Contract | None
    problems: tuple[Problem, ...]


def load_many(files: Sequence[Path], wanted: Wanted) -> list[Loaded]:
    """Load contracts, each as `lakelogic run` would, in the order of the files."""
    secrets = default_store(os.environ)
    mesh = MeshFiles(os.environ, secrets, wanted.env)
    return [_load(file, wanted, mesh) for file in files]


def _load(file: Path, wanted: Wanted, mesh: MeshFiles) -> Loaded:
    draft = load_draft(file, env=wanted.env, stage=wanted.stage, overrides=wanted.overrides, mesh=mesh)
    problems = list(draft.problems)
    if draft.contract is not None and wanted.checked:
        problems += check_declared(draft.contract)
    return Loaded(draft.contract, tuple(sorted(problems, key=position_of)))
