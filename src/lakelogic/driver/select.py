"""Choosing datasets of a graph: by name, tag, layer, entity or path, with those above or below them.

Words that are separated by blanks add up, words joined by commas must all hold: `+silver_claims tag:pii,layer:gold`.
A `+` before a word takes in what it builds on, one behind it what builds on it; `2+` and `+1` limit the steps.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from lakelogic.contract.info import LAYERS
from lakelogic.contract.mistakes import suggest
from lakelogic.core.errors import ContractError, Problem
from lakelogic.driver.estate import Member
from lakelogic.driver.graph import Dag

_WORD = re.compile(r"(?:(?P<above_steps>\d*)(?P<above>\+))?(?P<core>[^+]+?)(?:(?P<below>\+)(?P<below_steps>\d*))?")


@dataclass(frozen=True, slots=True)
class Selection:
    """What a caller chose; what is left empty chooses everything."""

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


def choose(dag: Dag, wanted: Selection) -> tuple[str, ...]:
    """The chosen datasets in their order; raises where a word means nothing here."""
    chosen = set(dag.members) if not wanted.select else _union(dag, wanted.select)
    if wanted.layers:
        _refuse_unknown(wanted.layers, LAYERS, "layer", "--layers")
        chosen = {name for name in chosen if dag.members[name].layer in wanted.layers}
    if wanted.entities:
        known = sorted({member.entity for member in dag.members.values() if member.entity})
        _refuse_unknown(wanted.entities, known, "entity", "--entities")
        chosen = {name for name in chosen if dag.members[name].entity in wanted.entities}
    chosen -= _union(dag, wanted.exclude)
    return tuple(name for name in dag.order if name in chosen)


def split_words(values: Iterable[str] | None) -> tuple[str, ...]:
    """`bronze,silver gold`, or the same in several options, as single words."""
    return tuple(word for value in values or () for word in re.split(r"[,\s]+", value) if word)


def _union(dag: Dag, expressions: Sequence[str]) -> set[str]:
    chosen: set[str] = set()
    for expression in expressions:
        for words in expression.split():
            parts = [_select(dag, word) for word in words.split(",")]
            chosen |= set.intersection(*parts)
    return chosen


def _select(dag: Dag, word: str) -> set[str]:
    match = _WORD.fullmatch(word)
    if match is None:
        raise _refusal(f"`{word}` chooses nothing", "write a dataset, `tag:pii`, `layer:gold`, `path:...`, `+name+`")
    found = _matching(dag, match["core"])
    chosen = set(found)
    for name in found:
        if match["above"]:
            chosen |= dag.ancestors(name, _steps(match["above_steps"]))
        if match["below"]:
            chosen |= dag.descendants(name, _steps(match["below_steps"]))
    return chosen


def _steps(text: str | None) -> int | None:
    return int(text) if text else None


def _matching(dag: Dag, core: str) -> list[str]:
    method, colon, value = core.partition(":")
    if not colon:
        found = [name for name in dag.members if fnmatchcase(name, core)]
        if not found:
            raise _refusal(f"there is no dataset `{core}`", _likely(core, dag.members))
        return found
    if method not in _METHODS:
        raise _refusal(f"`{method}:` is not a way to choose datasets", suggest(method, _METHODS))
    if method == "layer":
        _refuse_unknown((value,), LAYERS, "layer", "layer:")
    return [name for name, member in dag.members.items() if _METHODS[method](member, value)]


def _has_tag(member: Member, value: str) -> bool:
    contract = member.contract
    # Personal data is marked on fields; nobody should have to say it twice.
    personal = value == "pii" and any(field.pii for field in contract.fields)
    return personal or any(fnmatchcase(tag, value) for tag in contract.info.tags)


def _is_below(member: Member, value: str) -> bool:
    file, wanted = os.path.abspath(member.contract.file), os.path.abspath(value)
    return file == wanted or Path(wanted) in Path(file).parents or fnmatchcase(file, wanted)


_METHODS: dict[str, Callable[[Member, str], bool]] = {
    "tag": _has_tag,
    "layer": lambda member, value: member.layer == value,
    "entity": lambda member, value: member.entity is not None and fnmatchcase(member.entity, value),
    "domain": lambda member, value: member.contract.info.domain == value,
    "system": lambda member, value: member.contract.info.system == value,
    "owner": lambda member, value: member.contract.info.owner == value,
    "path": _is_below,
}


def _refuse_unknown(words: Iterable[str], known: Collection[str], noun: str, where: str) -> None:
    for word in words:
        if word not in known:
            raise _refusal(f"{where}: there is no {noun} `{word}`", _likely(word, known))


def _likely(word: str, known: Collection[str]) -> str:
    if not known:
        return "the registries name none"
    hint = suggest(word, known)
    return hint if hint.startswith("did you mean") or len(known) <= 12 else "`lakelogic dag` shows what there is"


def _refusal(message: str, hint: str) -> ContractError:
    return ContractError([Problem("LL180", message, hint=hint)])
