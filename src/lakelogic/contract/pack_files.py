"""Policy packs from their files: found by name, read once, with all that is wrong with them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakelogic.contract.contract import Contract
from lakelogic.contract.inherit import read_tree
from lakelogic.contract.layers import deep_copy, merge, relabel
from lakelogic.contract.mesh import has_placeholder, shown_path
from lakelogic.contract.mistakes import suggest
from lakelogic.contract.model_of_tree import make_model
from lakelogic.contract.policy_pack import FOLDER_VARIABLE, PACK_FOLDER, AppliedPack, Pack, PackChoice
from lakelogic.contract.yaml_tree import Mark, YamlList, YamlMap
from lakelogic.core.errors import Place, Problem
from lakelogic.core.interpolate import interpolate
from lakelogic.core.secrets import SecretStore

_SUFFIXES = (".yaml", ".yml")
_MANY = 12  # names in a hint


@dataclass(frozen=True, slots=True)
class PackFile:
    """A pack as its file says it; every value knows that it came from there."""

    name: str
    file: str
    digest: str = ""
    tree: YamlMap | None = field(default=None, repr=False)
    problems: tuple[Problem, ...] = ()

    @property
    def applied(self) -> AppliedPack:
        return AppliedPack(self.name, os.path.abspath(self.file), self.digest)


@dataclass(frozen=True, slots=True)
class Named:
    """A pack's name, and where it is named."""

    name: str
    place: Place


class PackFiles:
    """Reads each pack once, however many contracts it is for."""

    def __init__(self, choice: PackChoice, environ: Mapping[str, str], secrets: SecretStore) -> None:
        self.choice, self._environ, self._secrets = choice, environ, secrets
        given = environ.get(FOLDER_VARIABLE)
        self.folder = choice.folder or (Path(given) if given else None)
        self._known: dict[str, PackFile] = {}

    def choose(self, tree: YamlMap, folder: Path) -> tuple[tuple[PackFile, ...], list[Problem]]:
        """The packs of a contract: those that the operator names, then those that the contract names, each once."""
        problems: list[Problem] = []
        found: dict[str, PackFile] = {}
        for named in [*self._from_operator(), *self._from_contract(tree, problems)]:
            pack = self._find(named, folder, problems)
            if pack is not None:
                found.setdefault(pack.file, pack)
                problems += pack.problems
        return tuple(found.values()), problems

    def _from_operator(self) -> Iterator[Named]:
        for name in self.choice.names:
            yield Named(name, Place(f"--policy-pack {name}", 1, 1))

    def _from_contract(self, tree: YamlMap, problems: list[Problem]) -> Iterator[Named]:
        metadata = tree.get("metadata")
        given = metadata.get("policy_pack") if isinstance(metadata, YamlMap) else None
        if given is None:
            return
        assert isinstance(metadata, YamlMap)
        mark = metadata.value_marks["policy_pack"]
        items = zip(given, given.marks, strict=True) if isinstance(given, YamlList) else [(given, mark)]
        for item, where in items:
            place = where.place("metadata.policy_pack")
            if not isinstance(item, str) or not item.strip():
                hint = "write the name of a pack, or a list of names"
                problems.append(Problem("LL113", "`policy_pack` must be a name or a list of names", place, hint))
                continue
            filled = interpolate(item, self._environ, self._secrets)
            if not filled.missing:  # those are reported with all other placeholders
                yield Named(filled.text, place)

    def _find(self, named: Named, folder: Path, problems: list[Problem]) -> PackFile | None:
        if Path(named.name).name != named.name or named.name.startswith("."):
            hint = "write the file's name without `.yaml`; --policy-pack-dir says where the packs are"
            problems.append(Problem("LL123", f"`{named.name}` is not the name of a policy pack", named.place, hint))
            return None
        places = [self.folder] if self.folder is not None else list(folders_above(folder))
        for place in places:
            for suffix in _SUFFIXES:
                path = place / f"{named.name}{suffix}"
                if path.is_file():
                    return self._read(path)
        problems.append(_missing(named, places))
        return None

    def _read(self, path: Path) -> PackFile:
        key = os.path.abspath(path)
        if key not in self._known:
            self._known[key] = read_pack(path)
        return self._known[key]


def folders_above(folder: Path) -> Iterator[Path]:
    """`policy_packs` beside a contract and above it, nearest first; a folder with `.git` is the uppermost."""
    place = os.path.abspath(folder)
    while True:
        yield Path(place) / PACK_FOLDER
        parent = os.path.dirname(place)
        if parent == place or os.path.exists(os.path.join(place, ".git")):
            return
        place = parent


def is_pack(path: Path) -> bool:
    """Whether a file is a policy pack, by the folder that it is in."""
    return path.suffix in _SUFFIXES and path.absolute().parent.name == PACK_FOLDER


def read_pack(path: Path) -> PackFile:
    """A pack with all that is wrong with it; broken parts are left out, so that the rest can be looked at."""
    shown = shown_path(os.path.abspath(path))
    problems: list[Problem] = []
    tree = read_tree(Path(shown), None, problems, "policy pack")
    if tree is None:
        return PackFile(path.stem, shown, problems=tuple(problems))
    problems += _check_defaults(tree)
    problems += _check(Pack, tree)
    seen = {problem.place for problem in problems}
    # What stands under `defaults` is part of a contract, and looked at as such.
    defaults = tree.get("defaults")
    if isinstance(defaults, YamlMap):
        problems += [problem for problem in _check(Contract, defaults) if problem.place not in seen]
    digest = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    return PackFile(path.stem, shown, digest, _labelled(tree, path.stem), tuple(problems))


def _check(model: Any, tree: YamlMap) -> list[Problem]:
    """What is wrong with a block; values with placeholders are looked at where they end up: in a contract, filled."""
    _, found = make_model(model, deep_copy(tree))
    kept = [problem for problem in found if not has_placeholder(tree, problem)]
    if kept:
        make_model(model, tree)
    return kept


_OF_ONE_CONTRACT = (("dataset",), ("extends",), ("info", "table_name"), ("metadata", "policy_pack"))


def _check_defaults(tree: YamlMap) -> list[Problem]:
    problems = []
    for *outer, last in _OF_ONE_CONTRACT:
        block: Any = tree.get("defaults")
        for key in outer:
            block = block.get(key) if isinstance(block, YamlMap) else None
        if isinstance(block, YamlMap) and last in block:
            place = block.key_marks[last].place(".".join(["defaults", *outer, last]))
            problems.append(Problem("LL122", f"`{last}` is of one contract only", place, "write it into the contract"))
            block.remove(last)
    return problems


def _labelled(tree: YamlMap, name: str) -> YamlMap:
    origin: Callable[[Mark], str] = lambda mark: f"pack {name} ({mark.place()})"  # noqa: E731 - relabel takes it by name
    labelled: YamlMap = relabel(tree, origin)
    return labelled


def lay_defaults(packs: tuple[PackFile, ...], contract: YamlMap) -> YamlMap:
    """A contract over the defaults of its packs, of which a later one wins over those before."""
    below: YamlMap | None = None
    for pack in packs:
        shape = _defaults(pack.tree) if pack.tree is not None else None
        if shape is not None:
            below = merge(below, shape) if below is not None else shape
    return merge(below, contract) if below is not None else contract


def _defaults(tree: YamlMap) -> YamlMap | None:
    """The defaults of a pack; so are the switches under `quality`, whose rules are added instead."""
    given, quality = tree.get("defaults"), tree.get("quality")
    shape = given if isinstance(given, YamlMap) else YamlMap(tree.mark)
    if not isinstance(quality, YamlMap):
        return shape
    switches = YamlMap(quality.mark)
    for key, value in quality.items():
        if key not in ("row_rules", "dataset_rules"):
            switches.put(key, value, quality.key_marks[key], quality.value_marks[key])
    over = YamlMap(tree.mark)
    over.put("quality", switches, tree.key_marks["quality"], tree.value_marks["quality"])
    return merge(shape, over) if switches else shape


def _missing(named: Named, places: list[Path]) -> Problem:
    there = sorted({file.stem for place in places for suffix in _SUFFIXES for file in place.glob(f"*{suffix}")})
    looked = [shown_path(str(place)) for place in places if place.is_dir()]
    if there:
        guess = suggest(named.name, there)
        hint = guess if guess.startswith("did you mean") or len(there) <= _MANY else "look at the name"
        hint += f" (in {', '.join(looked)})"
    elif len(places) == 1:
        hint = f"`{shown_path(str(places[0]))}` has no packs; look at --policy-pack-dir"
    else:
        hint = (
            f"put `{named.name}.yaml` into `{PACK_FOLDER}/` beside the contract or above it, or use --policy-pack-dir"
        )
    return Problem("LL123", f"there is no policy pack `{named.name}`", named.place, hint)
