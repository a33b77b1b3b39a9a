"""Which engines can run a pattern by themselves, and for which rows: what differs from Java is known by its form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from lakelogic.engine.local.java_regex.nodes import (
    Again,
    At,
    Atomic,
    Chars,
    Choice,
    Group,
    Look,
    Node,
    Pattern,
    Repeat,
    Sequence,
)
from lakelogic.engine.local.java_regex.sets import Ranges, intersection, one

# all: the engine's own matching is Java's. plain: only of printable ASCII. rows: Python must do it.
Way = Literal["all", "plain", "rows"]
Purpose = Literal["test", "extract", "replace", "split", "rows"]

_MOST_COPIES = 1000  # of a part that is repeated a number of times: RE2 has no more
_MOST_RANGES = 20_000


def find_way(pattern: Pattern, purpose: Purpose) -> Way:
    """How a pattern is run by an engine with automata, such as RE2's or Rust's."""
    if purpose == "rows":
        return "rows"
    root = pattern.root
    nodes = list(walk(root))
    if any(_needs_memory(node) for node in nodes) or _copies(root) > _MOST_COPIES or _size(root) > _MOST_RANGES:
        return "rows"
    places = {node.place for node in nodes if isinstance(node, At)}
    if places & {"line_begin", "line_end"}:
        return "rows"
    if purpose in ("replace", "split") and is_nullable(root):
        return "rows"  # after a match of nothing each engine goes on in its own way
    if purpose == "split" and places:
        return "rows"
    if purpose != "test" and any(_loops_on_nothing(node) for node in nodes):
        return "rows"
    if places & {"word", "inside"}:
        return "plain"
    if "last_end" in places and not (purpose == "test" and _ends_last(root)):
        return "plain"
    return "all"


def find_unknown(root: Node) -> str | None:
    """What Java does in a way of its own, so that nobody else can follow."""
    nodes = list(walk(root))
    if any(isinstance(node, Repeat) and _loops_on_nothing(node) and (node.least > 1 or node.most) for node in nodes):
        return "repetition by number of what may be nothing"
    unsure = unsure_groups(root)
    if any(isinstance(node, Again) and node.number in unsure for node in nodes):
        return "reference to a group inside of a lookaround, an atomic group or a loop over nothing"
    return None


def unsure_groups(root: Node) -> frozenset[int]:
    """Groups that Java may leave set by an attempt that failed, or set in another round of a loop."""
    around = [node for node in walk(root) if _needs_memory(node) or _loops_on_nothing(node)]
    return frozenset(inner.number for node in around for inner in walk(node) if isinstance(inner, Group))


def walk(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case Sequence(parts) | Choice(parts):
            for part in parts:
                yield from walk(part)
        case Repeat() | Group() | Look() | Atomic():
            yield from walk(node.part)
        case _:
            return


def is_nullable(node: Node) -> bool:
    """Whether it may match without taking a character."""
    match node:
        case Chars():
            return False
        case Sequence(parts):
            return all(map(is_nullable, parts))
        case Choice(parts):
            return any(map(is_nullable, parts))
        case Repeat():
            return node.least == 0 or is_nullable(node.part)
        case Group() | Atomic():
            return is_nullable(node.part)
        case Look() | At() | Again():
            return True


def _needs_memory(node: Node) -> bool:
    return isinstance(node, (Look, Atomic, Again)) or (isinstance(node, Repeat) and node.mode == "possessive")


def _loops_on_nothing(node: Node) -> bool:
    return isinstance(node, Repeat) and (node.most is None or node.most > 1) and is_nullable(node.part)


def _copies(node: Node) -> int:
    match node:
        case Sequence(parts) | Choice(parts):
            return max(map(_copies, parts), default=1)
        case Repeat():
            return max(node.least, node.most or 0, 1) * _copies(node.part)
        case Group() | Look() | Atomic():
            return _copies(node.part)
        case _:
            return 1


def _size(node: Node) -> int:
    match node:
        case Chars():
            return len(node.ranges)
        case Sequence(parts) | Choice(parts):
            return sum(map(_size, parts))
        case Repeat():
            return max(node.least, node.most or 0, 1) * _size(node.part)
        case Group() | Look() | Atomic():
            return _size(node.part)
        case _:
            return 1


def _ends_last(node: Node, before: tuple[Node, ...] = ()) -> bool:
    """Whether `$` stands at the end only, and not behind what may take the first half of a line end."""
    match node:
        case At("last_end"):
            return not any(intersection(last, one(13)) for last in _lasts(Sequence(before)))
        case Sequence(parts):
            inner = any(At("last_end") in list(walk(part)) for part in parts[:-1])
            return not inner and (not parts or _ends_last(parts[-1], (*before, *parts[:-1])))
        case Choice(parts):
            return all(_ends_last(part, before) for part in parts)
        case Group():
            return _ends_last(node.part, before)
        case _:
            return At("last_end") not in list(walk(node))


def _lasts(node: Node) -> Iterator[Ranges]:
    match node:
        case Chars(ranges=ranges):
            yield ranges
        case Sequence(parts):
            for part in reversed(parts):
                yield from _lasts(part)
                if not is_nullable(part):
                    return
        case Choice(parts):
            for part in parts:
                yield from _lasts(part)
        case Repeat() | Group() | Look() | Atomic():
            yield from _lasts(node.part)
        case _:
            return
