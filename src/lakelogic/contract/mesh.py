"""What stands above a contract: `_domain.yaml` and `_system.yaml`, in the shape of a contract, nearest on top."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lakelogic.contract.domain import Domain
from lakelogic.contract.grammar import ContractModel
from lakelogic.contract.inherit import read_tree
from lakelogic.contract.layers import deep_copy, merge
from lakelogic.contract.model_of_tree import make_model
from lakelogic.contract.system import System
from lakelogic.contract.yaml_tree import Mark, YamlList, YamlMap
from lakelogic.core.errors import Place, Problem
from lakelogic.core.interpolate import interpolate
from lakelogic.core.secrets import SecretStore

DOMAIN_FILE, SYSTEM_FILE, REGISTRY_FILE = "_domain.yaml", "_system.yaml", "_registry.yaml"
_MODELS: Mapping[str, type[ContractModel]] = {DOMAIN_FILE: Domain, SYSTEM_FILE: System}
# What a key of these files is called in a contract.
_INHERITED = {
    "domain": ("info", "domain"),
    "system": ("info", "system"),
    "owner": ("info", "owner"),
    "contacts": ("info", "contact"),
    "cost_centre": ("metadata", "cost_centre"),
    "service_levels": ("service_levels",),
    "alerts": ("notifications",),
    "engine": ("engine",),
    "spark": ("spark",),
}
_NOT_BY_DEFAULT = ("dataset", "extends")


@dataclass(frozen=True, slots=True)
class Above:
    """What a contract inherits: values, roots of storage, and which environments are known there."""

    tree: YamlMap | None = field(default=None, repr=False)
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)
    roots: Mapping[str, Place] = field(default_factory=dict, repr=False)  # where each of them is named
    environments: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()
    hidden: tuple[tuple[str, str], ...] = field(default=(), repr=False)


class MeshFiles:
    """Reads each file once, however many contracts stand below it."""

    def __init__(self, environ: Mapping[str, str], secrets: SecretStore, env: str | None = None) -> None:
        self._environ, self._secrets, self._env = environ, secrets, env
        self._known: dict[str, Above] = {}

    def above(self, folder: Path) -> Above:
        """What the files of a folder and of those above it say; a folder with `.git` is the uppermost."""
        place = os.path.abspath(folder)
        found = self._known.get(place)
        if found is None:
            parent = os.path.dirname(place)
            uppermost = parent == place or os.path.exists(os.path.join(place, ".git"))
            found = Above() if uppermost else self.above(Path(parent))
            for name in (DOMAIN_FILE, SYSTEM_FILE):
                path = os.path.join(place, name)
                if os.path.isfile(path):
                    found = self._lay_over(found, path)
            self._known[place] = found
        return found

    def _lay_over(self, farther: Above, path: str) -> Above:
        shown = shown_path(path)
        name = os.path.basename(path)
        problems: list[Problem] = []
        tree = read_tree(Path(shown), None, problems, name)
        if tree is None:
            return _with(farther, problems=problems)
        problems += check_file(tree, name)
        # Named, or known to a contract of its own: an environment that only some systems have is no mistake.
        known = tree.get("environments")
        environments = frozenset(known) if isinstance(known, YamlMap) else frozenset()
        layers = [tree]
        if self._env is not None and isinstance(known, YamlMap) and isinstance(known.get(self._env), YamlMap):
            layers.append(known[self._env])
        above = _with(farther, problems=problems, environments=environments)
        for layer in layers:
            above = self._lay_block(above, layer, os.path.dirname(path))
        return above

    def _lay_block(self, above: Above, block: YamlMap, folder: str) -> Above:
        shape = contract_shape(block)
        tree = merge(above.tree, shape) if above.tree is not None else shape
        storage, named = dict(above.storage), dict(above.roots)
        problems: list[Problem] = []
        hidden: list[tuple[str, str]] = []
        roots = block.get("storage")
        if not isinstance(roots, YamlMap):
            roots = YamlMap(block.mark)
        for name, value in roots.items():
            mark = roots.value_marks[name]
            filled = interpolate(value, self._environ, self._secrets, storage)
            problems += [Problem(m.code, m.message, mark.place(f"storage.{name}"), m.hint) for m in filled.missing]
            if filled.secret:
                hint = "a path is shown in plans and messages; put the secret into `spark` or `source.options`"
                problems.append(Problem("LL133", "a secret cannot stand here", mark.place(f"storage.{name}"), hint))
                continue
            hidden += filled.hidden
            storage[name], named[name] = _rooted(filled.text, folder), mark.place(f"storage.{name}")
        return Above(tree, storage, named, above.environments, (*above.problems, *problems), (*above.hidden, *hidden))


def check_file(tree: YamlMap, name: str) -> list[Problem]:
    """What is wrong with a `_domain.yaml` or `_system.yaml`; broken parts are taken out of the tree."""
    problems = []
    defaults = tree.get("defaults")
    for key in _NOT_BY_DEFAULT:
        if isinstance(defaults, YamlMap) and key in defaults:
            place = defaults.key_marks[key].place(f"defaults.{key}")
            problems.append(Problem("LL122", f"`{key}` is of one contract only", place, "write it into the contract"))
            defaults.remove(key)
    # Values with placeholders are looked at where they end up: in a contract, filled.
    unfilled = deep_copy(tree)
    _, found = make_model(_MODELS[name], unfilled)
    kept = [problem for problem in found if not has_placeholder(tree, problem)]
    if kept:
        make_model(_MODELS[name], tree)
    return problems + kept


def contract_shape(block: YamlMap) -> YamlMap:
    """The part of a contract that a domain, a system or one of its environments says."""
    shape = YamlMap(block.mark)
    for key, path in _INHERITED.items():
        if block.get(key) is None:
            continue
        value, mark = block[key], block.value_marks[key]
        if key == "contacts" and isinstance(value, YamlList):
            if not value:
                continue
            value, mark = value[0], value.marks[0]
        _put(shape, path, value, block.key_marks[key], mark)
    defaults = block.get("defaults")
    return merge(defaults, shape) if isinstance(defaults, YamlMap) else shape


def _put(shape: YamlMap, path: tuple[str, ...], value: Any, key_mark: Mark, value_mark: Mark) -> None:
    *outer, last = path
    for key in outer:
        if key not in shape:
            shape.put(key, YamlMap(key_mark), key_mark, value_mark)
        shape = shape[key]
    shape.put(last, value, key_mark, value_mark)


def has_placeholder(tree: YamlMap, problem: Problem) -> bool:
    """Whether a problem is about a value that is not filled yet."""
    node: Any = tree
    for part in problem.place.path.split(".") if problem.place and problem.place.path else ():
        if isinstance(node, YamlMap) and part in node:
            node = node[part]
        elif isinstance(node, YamlList) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        else:
            return False
    return isinstance(node, str) and "${" in node


def _rooted(path: str, folder: str) -> str:
    """A root in full: contracts in other folders use it too."""
    if "://" in path:
        return path.rstrip("/")
    return os.path.normpath(os.path.join(folder, os.path.expanduser(path)))


def shown_path(path: str) -> str:
    """The file as a person in this folder would call it."""
    beside = os.path.relpath(path)
    return path if beside.startswith("..") else beside


def _with(above: Above, *, problems: list[Problem], environments: frozenset[str] = frozenset()) -> Above:
    known = above.environments | environments
    return replace(above, environments=known, problems=(*above.problems, *problems))
