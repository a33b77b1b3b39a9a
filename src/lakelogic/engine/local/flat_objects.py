"""Which lines are flat JSON objects in the plainest form, and where the members of these begin and end.

The plainest form: no escapes, no nested values, no blanks but one behind a colon or a comma, no name twice. What is
said of a line here is certain; all other lines, malformed ones too, are left to the parser.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakelogic.engine.local.spans import Lines, chosen_of, find, spans, texts

if TYPE_CHECKING:
    from lakelogic.engine.local.spans import Mask, Places

_BLANK, _QUOTE, _COMMA, _COLON, _BEGIN, _END, _MINUS, _ZERO, _NULL = b' ",:{}-0n'
_SCALAR = r"^(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)$"


@dataclass(frozen=True, slots=True)
class FlatObjects:
    """The flat objects of a block: which lines they are, and the wanted members as columns of texts."""

    lines: Mask
    columns: list[pa.Array]


@dataclass(frozen=True, slots=True)
class _Strings:
    """The quoted texts of lines that may be flat: their quotes, and where the next one or the end of the line is."""

    line: Places
    opened: Places
    closed: Places
    following: Places
    last: Mask  # of its line


@dataclass(frozen=True, slots=True)
class _Gaps:
    """What stands behind each quoted text."""

    colon: Mask  # its value is the next text
    scalar: Mask  # its value, and then a comma or the end of the object
    stops: Places  # where it ends, but for a blank
    sound: Mask


def find_flat_objects(lines: Lines, names: Sequence[str]) -> FlatObjects:
    """The flat objects among some lines, with the members of these names; NULL where there is none."""
    quotes = find(lines, '"')
    counts = lines.count(quotes)
    flat = _hopeful(lines) & (counts % 2 == 0)
    strings = _strings(lines, flat, quotes[np.repeat(flat, counts)], counts[flat] // 2)
    gaps = _gaps(lines, strings)
    flat[strings.line[~gaps.sound]] = False
    keys = np.flatnonzero((gaps.colon | gaps.scalar) & flat[strings.line])
    members, repeated = _members(lines, strings, keys, names)
    flat[repeated] = False
    return FlatObjects(flat, _columns(lines, strings, gaps, keys, members[:, flat]))


def _hopeful(lines: Lines) -> Mask:
    """Lines that begin as objects do, and hold neither escapes nor control characters."""
    second = lines.codes.take(lines.starts + 1, mode="clip")
    found: Mask = (lines.codes[lines.starts] == _BEGIN) & (second == _QUOTE) & lines.sound
    if b"\\" in lines.content:
        found &= ~lines.holding(find(lines, "\\"))
    control = lines.codes < _BLANK
    if np.count_nonzero(control) > len(lines):
        control[lines.ends] = False
        found &= ~lines.holding(np.flatnonzero(control))
    return found


def _strings(lines: Lines, hopeful: Mask, quotes: Places, pairs: Places) -> _Strings:
    opened, closed = quotes[0::2], quotes[1::2]
    last = np.zeros(len(opened), np.bool_)
    last[np.cumsum(pairs) - 1] = True
    following = np.empty_like(opened)
    following[:-1] = opened[1:]
    following[last] = lines.ends[hopeful]
    return _Strings(np.repeat(np.flatnonzero(hopeful), pairs), opened, closed, following, last)


def _gaps(lines: Lines, strings: _Strings) -> _Gaps:
    codes, last = lines.codes, strings.last
    stops = strings.following - ((codes[strings.following - 1] == _BLANK) & ~last)
    first, final = codes[strings.closed + 1], codes[stops - 1]
    length = stops - strings.closed - 1
    colon = (first == _COLON) & (length == 1) & ~last
    ended = (first == np.where(last, _END, _COMMA)) & (length == 1)
    scalar = (first == _COLON) & (length > 2) & (final == np.where(last, _END, _COMMA))
    _check_scalars(lines, strings, stops, scalar)
    is_value = np.zeros_like(colon)
    is_value[1:] = colon[:-1]
    return _Gaps(colon, scalar, stops, np.where(is_value, ended, colon | scalar))


def _check_scalars(lines: Lines, strings: _Strings, stops: Places, scalar: Mask) -> None:
    """Leave those that are numbers and words of JSON; Spark writes -0 as 0, which is not for us to do."""
    chosen = np.flatnonzero(scalar)
    starts, ends = _scalar_starts(lines, strings.closed[chosen]), stops[chosen] - 1
    sound = pc.match_substring_regex(texts(lines.content, starts, ends), _SCALAR).to_numpy(zero_copy_only=False)
    second = lines.codes.take(starts + 1, mode="clip")
    minus_zero = (lines.codes[starts] == _MINUS) & (second == _ZERO) & (ends - starts == 2)
    scalar[chosen] = sound & ~minus_zero


def _scalar_starts(lines: Lines, closed: Places) -> Places:
    """Where the value begins: behind the colon, and the blank behind that."""
    behind: Places = closed + 2
    return np.where(lines.codes.take(behind, mode="clip") == _BLANK, behind + 1, behind)


def _members(lines: Lines, strings: _Strings, keys: Places, names: Sequence[str]) -> tuple[Places, Places]:
    """Of each name and line, which of the keys it is, or -1; and the lines in which a name stands twice."""
    found = texts(lines.content, strings.opened[keys] + 1, strings.closed[keys])
    name = pc.index_in(found, pa.array(names, pa.string())).fill_null(-1).to_numpy()
    known = np.flatnonzero(name >= 0)
    name, line = name[known], strings.line[keys[known]]
    members = np.full((len(names), len(lines)), -1, np.int64)
    members[name, line] = known
    return members, line[members[name, line] != known]


def _columns(lines: Lines, strings: _Strings, gaps: _Gaps, keys: Places, members: Places) -> list[pa.Array]:
    quoted = gaps.colon[keys]
    scalar_starts = _scalar_starts(lines, strings.closed[keys])
    starts = np.where(quoted, strings.opened.take(keys + 1, mode="clip") + 1, scalar_starts)
    ends = np.where(quoted, strings.closed.take(keys + 1, mode="clip"), gaps.stops[keys] - 1)
    is_null = ~quoted & (lines.codes[scalar_starts] == _NULL)
    values = spans(lines.content, starts, ends)
    return [chosen_of(values, chosen, (chosen < 0) | is_null.take(chosen, mode="clip")) for chosen in members]
