"""A regular expression as a tree. Classes are sets of code points with the case already folded in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from lakelogic.engine.local.java_regex.sets import Ranges

Place = Literal["begin", "end", "last_end", "line_begin", "line_end", "word", "inside"]
Mode = Literal["greedy", "lazy", "possessive"]


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set; `dot` where it was written as one."""

    ranges: Ranges
    dot: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    part: Node
    least: int
    most: int | None
    mode: Mode


@dataclass(frozen=True, slots=True)
class Group:
    """A group that is kept under its number."""

    part: Node
    number: int


@dataclass(frozen=True, slots=True)
class Look:
    """Ahead or behind, without moving."""

    part: Node
    ahead: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class Atomic:
    part: Node


@dataclass(frozen=True, slots=True)
class Again:
    """The text of an earlier group once more."""

    number: int


@dataclass(frozen=True, slots=True)
class At:
    """A place: `begin` is \\A, `end` \\z, `last_end` $ and \\Z, `word` \\b, `inside` \\B; the lines are of (?m)."""

    place: Place


Node: TypeAlias = "Chars | Sequence | Choice | Repeat | Group | Look | Atomic | Again | At"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A whole regular expression, the number of its groups, and their names."""

    written: str
    root: Node
    groups: int
    names: dict[str, int]
