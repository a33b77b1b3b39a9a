"""`extends`: a file and the files it builds on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lakelogic.contract.grammar import describe_type
from lakelogic.contract.layers import merge
from lakelogic.contract.yaml_tree import YamlMap, parse_yaml
from lakelogic.core.errors import Place, Problem
from lakelogic.core.interpolate import interpolate
from lakelogic.core.secrets import SecretStore

_STARTS = {"contract": "start with `source:`, `model:` and `materialization:`", "registry": "start with `entries:`"}


def read_with_bases(
    path: Path, text: str | None, environ: Mapping[str, str], store: SecretStore
) -> tuple[YamlMap | None, list[Problem]]:
    """Read a contract's file and lay it over the files that it extends, nearest on top."""
    problems: list[Problem] = []
    tree = read_tree(path, text, problems)
    seen = {_identity(path)}
    nearest = tree
    while nearest is not None and isinstance(nearest.get("extends"), str):
        place = nearest.value_marks["extends"].place("extends")
        filled = interpolate(nearest["extends"], environ, store)
        base = Path(os.path.normpath(path.parent / filled.text))
        if filled.missing:
            break  # reported with all other placeholders
        if _identity(base) in seen:
            problems.append(_cycle(base, place))
            break
        seen.add(_identity(base))
        path, nearest = base, _read_base(base, place, problems)
        tree = merge(nearest, tree) if nearest is not None and tree is not None else tree
    return tree, problems


def _identity(path: Path) -> str:
    return os.path.realpath(path)


def _cycle(base: Path, place: Place) -> Problem:
    hint = "a contract cannot build on itself; take one `extends` away"
    return Problem("LL121", f"`extends` goes in a circle through `{base.name}`", place, hint)


def _read_base(base: Path, place: Place, problems: list[Problem]) -> YamlMap | None:
    if not base.is_file():
        hint = "the path is relative to this file's folder"
        problems.append(Problem("LL120", "the contract that this one extends is not there", place, hint))
        return None
    return read_tree(base, None, problems)


def read_tree(path: Path, text: str | None, problems: list[Problem], noun: str = "contract") -> YamlMap | None:
    """The mapping in a YAML file; what is wrong with the file is added to the problems."""
    start = Place(str(path), 1, 1)
    if text is None:
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            why = error.strerror or "it cannot be opened"
            problems.append(Problem("LL101", f"the {noun} cannot be read: {why}", start, "look at the path"))
            return None
        except UnicodeDecodeError:
            problems.append(Problem("LL101", f"the {noun} is not UTF-8 text", start, "save it as UTF-8"))
            return None
    tree, found = parse_yaml(text.removeprefix("\ufeff"), str(path))
    problems += found
    if isinstance(tree, YamlMap):
        return tree
    if not found:
        _refuse_other(tree, start, problems, noun)
    return None


def _refuse_other(tree: Any, start: Place, problems: list[Problem], noun: str) -> None:
    what = "is empty" if tree is None else f"must be a mapping, not {describe_type(tree)}"
    hint = _STARTS.get(noun, "write `key: value` lines, or take the file away")
    problems.append(Problem("LL106", f"the {noun} {what}", start, hint))
