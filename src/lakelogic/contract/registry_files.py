"""Registries from their files, and the contract of a dataset by its name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lakelogic.contract.info import Layer
from lakelogic.contract.inherit import read_tree, read_with_bases
from lakelogic.contract.mesh import REGISTRY_FILE
from lakelogic.contract.model_of_tree import make_model
from lakelogic.contract.placeholders import fill_placeholders
from lakelogic.contract.positions import Positions
from lakelogic.contract.registry import Registry
from lakelogic.core.errors import Place, Problem
from lakelogic.core.secrets import SecretStore, default_store


@dataclass(frozen=True, slots=True)
class Listed:
    """A contract as a registry lists it."""

    file: Path
    layer: Layer
    entity: str
    enabled: bool
    place: Place


@dataclass(frozen=True, slots=True)
class LoadedRegistry:
    """A registry with its paths found; `uses` are registries whose datasets this one builds on."""

    file: Path
    contracts: tuple[Listed, ...] = ()
    uses: tuple[Path, ...] = ()
    external: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def load_registry(
    path: Path, *, environ: Mapping[str, str] = os.environ, secrets: SecretStore | None = None
) -> LoadedRegistry:
    """Load what can be loaded of a registry, with all that is wrong with it."""
    problems: list[Problem] = []
    tree = read_tree(path, None, problems, "registry")
    if tree is None:
        return LoadedRegistry(path, problems=tuple(problems))
    filled = fill_placeholders(tree, environ, secrets or default_store(environ))
    problems += filled.problems
    registry, mistakes = make_model(Registry, filled.tree)
    problems += mistakes
    if registry is None:
        return LoadedRegistry(path, problems=tuple(problems))
    positions = Positions(str(path), filled.tree)
    listed = tuple(_listed(registry, path, positions))
    problems += _missing(listed)
    uses = []
    for index, name in enumerate(registry.uses):
        used = _beside(path, name)
        uses.append(used)
        if not used.is_file():
            place = positions.at(f"uses.{index}")
            problems.append(Problem("LL170", f"the registry `{name}` is not there", place, _RELATIVE))
    return LoadedRegistry(path, listed, tuple(uses), registry.external, tuple(problems))


_RELATIVE = "the path is relative to this registry's folder"


def _listed(registry: Registry, path: Path, positions: Positions) -> Iterator[Listed]:
    for number, entry in enumerate(registry.entries):
        for layer, index, name in entry.paths():
            key = f"entries.{number}.contracts.{layer}"
            place = positions.at(key if index is None else f"{key}.{index}")
            yield Listed(_beside(path, name), layer, entry.entity, entry.enabled, place)


def _missing(listed: tuple[Listed, ...]) -> list[Problem]:
    # An entity that is switched off may be one that is not written yet.
    missing = [each for each in listed if each.enabled and not each.file.is_file()]
    return [Problem("LL170", f"the contract `{each.file}` is not there", each.place, _RELATIVE) for each in missing]


def _beside(registry: Path, path: str) -> Path:
    return Path(os.path.normpath(registry.parent / path))


def find_contract_file(dataset: str, folder: Path, *, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The contract of a dataset, by the registries of a folder and of those above it, and by those that they use."""
    secrets = default_store(environ)
    for registry in _registries_above(folder, environ, secrets):
        for each in registry.contracts:
            if each.file.is_file() and _name_of(each.file, environ, secrets) == dataset:
                return each.file
    return None


def _registries_above(folder: Path, environ: Mapping[str, str], secrets: SecretStore) -> Iterator[LoadedRegistry]:
    seen: set[str] = set()
    place = os.path.abspath(folder)
    while True:
        waiting = [Path(place) / REGISTRY_FILE]
        while waiting:
            path = waiting.pop(0)
            if str(path) not in seen and path.is_file():
                seen.add(str(path))
                registry = load_registry(path, environ=environ, secrets=secrets)
                waiting += registry.uses
                yield registry
        parent = os.path.dirname(place)
        if parent == place or os.path.exists(os.path.join(place, ".git")):
            return
        place = parent


def _name_of(file: Path, environ: Mapping[str, str], secrets: SecretStore) -> str:
    tree, _ = read_with_bases(file, None, environ, secrets)
    info = tree.get("info") if tree is not None else None
    named = tree.get("dataset") if tree is not None else None
    name = named or (info.get("table_name") if isinstance(info, dict) else None)
    return name if isinstance(name, str) else file.stem
