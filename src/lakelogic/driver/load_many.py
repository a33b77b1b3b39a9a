"""Many contracts at once: what they share is read once."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lakelogic.contract.contract import Contract
from lakelogic.contract.loader import load_draft
from lakelogic.contract.mesh import MeshFiles
from lakelogic.contract.pack_files import PackFiles
from lakelogic.contract.policy_pack import PackChoice
from lakelogic.core.errors import Problem
from lakelogic.core.secrets import default_store
from lakelogic.driver.check_many import check_many
from lakelogic.run.validate import position_of


@dataclass(frozen=True, slots=True)
class Wanted:
    """How contracts are loaded, and how closely they are looked at."""

    env: str | None = None
    stage: str | None = None
    overrides: tuple[str, ...] = ()
    checked: bool = True
    packs: PackChoice = field(default_factory=PackChoice)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A contract as far as it could be understood, and what is wrong with it."""

    contract: Contract | None
    problems: tuple[Problem, ...]


def load_many(files: Sequence[Path], wanted: Wanted) -> list[Loaded]:
    """Load contracts, each as `lakelogic run` would, in the order of the files."""
    secrets = default_store(os.environ)
    mesh = MeshFiles(os.environ, secrets, wanted.env)
    packs = PackFiles(wanted.packs, os.environ, secrets)
    with _without_collection():
        drafts = [
            load_draft(file, env=wanted.env, stage=wanted.stage, overrides=wanted.overrides, mesh=mesh, packs=packs)
            for file in files
        ]
        checked = check_many([draft.contract for draft in drafts]) if wanted.checked else [[]] * len(drafts)
    return [
        Loaded(draft.contract, tuple(sorted([*draft.problems, *found], key=position_of)))
        for draft, found in zip(drafts, checked, strict=True)
    ]


@contextmanager
def _without_collection() -> Iterator[None]:
    """Trees of SQL are many small objects in circles, and looking for garbage among them takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
