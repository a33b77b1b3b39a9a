"""The estate: all contracts of some registries or folders, with all that is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lakelogic.contract.contract import Contract
from lakelogic.contract.info import Layer
from lakelogic.contract.mesh import REGISTRY_FILE
from lakelogic.contract.policy_pack import PackChoice
from lakelogic.contract.registry_files import Listed, LoadedRegistry, load_registry
from lakelogic.core.errors import ContractError, Place, Problem
from lakelogic.core.settings import Settings, read_settings
from lakelogic.driver.files import find_contracts, is_registry
from lakelogic.driver.load_many import Loaded, Wanted, load_many


@dataclass(frozen=True, slots=True)
class Member:
    """A contract of the estate, and what its registry says about it."""

    contract: Contract = field(repr=False)
    layer: Layer | None = None
    entity: str | None = None
    enabled: bool = True
    listed_at: Place | None = None  # None: found in a folder, in no registry
    own: bool = True  # False: known only because a registry uses another, and never run

    @property
    def dataset(self) -> str:
        return self.contract.dataset

    @property
    def place(self) -> Place:
        return self.contract.at("dataset")


@dataclass(frozen=True, slots=True)
class Estate:
    """Contracts by their datasets; whoever is named twice is here once, and a problem."""

    members: Mapping[str, Member]
    settings: Settings = field(default_factory=Settings, repr=False)
    external: frozenset[str] = frozenset()  # datasets that something else writes
    problems: tuple[Problem, ...] = ()
    files: int = 0  # how many contracts were looked at

    @property
    def contracts(self) -> tuple[Contract, ...]:
        return tuple(member.contract for member in self.members.values() if member.own)

    def find(self, dataset: str) -> Contract | None:
        member = self.members.get(dataset)
        return member.contract if member else None

    def __iter__(self) -> Iterator[Contract]:
        return iter(self.contracts)

    def __len__(self) -> int:
        return len(self.contracts)


def read_estate(
    paths: Iterable[Path],
    *,
    registries: Iterable[Path] = (),
    env: str | None = None,
    stage: str | None = None,
    overrides: Sequence[str] = (),
    settings: Settings | None = None,
    checked: bool = True,
    packs: PackChoice | None = None,
) -> Estate:
    """Read folders, contracts and registries, which are called `_registry.yaml` or named as such; unless
    `checked`, mistakes inside of their SQL are not looked for.
    """
    found, loose = _find_files(paths, registries)
    listed = [each for registry in found for each in registry.contracts if each.file.is_file()]
    wanted = Wanted(env, stage, tuple(overrides), checked, packs or PackChoice())
    files = list(dict.fromkeys([*(each.file for each in listed), *loose]))
    loaded = dict(zip(files, load_many(files, wanted), strict=True))
    problems = [problem for registry in found for problem in registry.problems]
    problems += [problem for each in loaded.values() for problem in each.problems]
    members: dict[str, Member] = {}
    for member in _members(listed, loose, loaded, problems):
        _add(members, member, problems)
    external = frozenset(name for registry in found for name in registry.external)
    estate = Estate(members, settings or read_settings(os.environ), external, (), len(files))
    estate = _with_used(estate, found, set(files), wanted)
    return replace(estate, problems=tuple(dict.fromkeys(problems)))


def load_all_contracts(path: str | os.PathLike[str], *, env: str | None = None) -> Estate:
    """All contracts of a folder or a registry; raises ContractError with every mistake in them."""
    settings = read_settings(os.environ)
    estate = read_estate([Path(path)], env=env or settings.env, settings=settings)
    mistakes = [problem for problem in estate.problems if problem.severity == "error"]
    if mistakes:
        raise ContractError(mistakes)
    return estate


def _find_files(paths: Iterable[Path], named: Iterable[Path]) -> tuple[list[LoadedRegistry], list[Path]]:
    """The registries, and the contracts that none of them lists."""
    registries = {os.path.abspath(path): load_registry(path) for path in named}
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            for file in sorted(path.rglob(REGISTRY_FILE)):
                registries.setdefault(os.path.abspath(file), load_registry(file))
            found += find_contracts([path])
        elif is_registry(path):
            registries.setdefault(os.path.abspath(path), load_registry(path))
        else:
            found.append(path)
    listed = {os.path.abspath(each.file) for registry in registries.values() for each in registry.contracts}
    loose = [file for file in dict.fromkeys(found) if os.path.abspath(file) not in listed]
    return list(registries.values()), loose


def _members(
    listed: Sequence[Listed], loose: Sequence[Path], loaded: Mapping[Path, Loaded], problems: list[Problem]
) -> Iterator[Member]:
    seen: dict[str, Place] = {}
    for each in listed:
        identity = os.path.abspath(each.file)
        if identity in seen:
            hint = f"it is listed at {seen[identity]} already; keep one"
            problems.append(Problem("LL171", f"`{each.file}` is listed twice", each.place, hint))
            continue
        seen[identity] = each.place
        contract = loaded[each.file].contract
        if contract is not None:
            problems += _check_layer(contract, each)
            layer = contract.info.target_layer or each.layer
            yield Member(contract, layer, each.entity, each.enabled, each.place)
    for file in loose:
        contract = loaded[file].contract
        if contract is not None:
            yield Member(contract, contract.info.target_layer)


def _check_layer(contract: Contract, listed: Listed) -> list[Problem]:
    said = contract.info.target_layer
    if said in (None, listed.layer):
        return []
    hint = f"it is listed as `{listed.layer}` at {listed.place}; change one of the two"
    return [Problem("LL178", f"the contract says that it is `{said}`", contract.at("info.target_layer"), hint)]


def _add(members: dict[str, Member], member: Member, problems: list[Problem]) -> None:
    first = members.setdefault(member.dataset, member)
    if first is not member and member.own:
        hint = f"the other is {first.place}; a dataset has one contract"
        problems.append(Problem("LL171", f"two contracts are of dataset `{member.dataset}`", member.place, hint))


def _with_used(estate: Estate, registries: Sequence[LoadedRegistry], seen: set[Path], wanted: Wanted) -> Estate:
    """Datasets of registries that these use: known, but nobody's business here."""
    waiting = [path for registry in registries for path in registry.uses]
    external, files = set(estate.external), []
    done = {os.path.abspath(registry.file) for registry in registries}
    while waiting:
        path = waiting.pop(0)
        if os.path.abspath(path) in done or not path.is_file():
            continue
        done.add(os.path.abspath(path))
        used = load_registry(path)
        waiting += used.uses
        external |= set(used.external)
        files += [each for each in used.contracts if each.file.is_file() and each.file not in seen]
    members = dict(estate.members)
    theirs = replace(wanted, overrides=(), checked=False, packs=replace(wanted.packs, names=()))
    loaded = load_many([each.file for each in files], theirs)
    for each, found in zip(files, loaded, strict=True):
        if found.contract is not None:
            member = Member(found.contract, each.layer, each.entity, each.enabled, each.place, own=False)
            members.setdefault(member.dataset, member)
    return replace(estate, members=members, external=frozenset(external))
