"""Texts of a block by the places where they begin and end: found in numpy, copied by Arrow, never held by Python."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakelogic.core.errors import RunError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.uint8]
    Places = NDArray[np.int64]
    Mask = NDArray[np.bool_]

_MOST_BYTES = 2**31 - 1  # Arrow counts the bytes of a column of texts in 32 bits
_LINE_FEED = 10


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a block, by where they begin and end; `sound` says whether all of it is UTF-8."""

    content: bytes
    codes: Codes
    starts: Places
    ends: Places
    sound: bool

    def __len__(self) -> int:
        return len(self.starts)

    def count(self, places: Places) -> Places:
        """How many of some places, which must be in order, each line holds."""
        return np.diff(np.searchsorted(places, self.ends), prepend=0)

    def holding(self, places: Places) -> Mask:
        """The lines in which any of these places is."""
        found = np.zeros(len(self), np.bool_)
        found[np.searchsorted(self.ends, places)] = True
        return found

    def equal(self, text: str) -> Mask:
        """The lines that are this text and nothing else."""
        wanted = text.encode()
        found: Mask = self.ends - self.starts == len(wanted)
        if wanted:
            found[found] = self.codes[self.starts[found]] == wanted[0]
            for line in np.flatnonzero(found):
                found[line] = self.content[self.starts[line] : self.ends[line]] == wanted
        return found

    def raw(self, chosen: Mask) -> list[bytes]:
        """Lines as bytes, for those who look at them one by one."""
        places = zip(self.starts[chosen].tolist(), self.ends[chosen].tolist(), strict=True)
        return [self.content[start:end] for start, end in places]


def find_lines(block: bytes, encoding: str, path: str) -> Lines:
    """The lines of a block whose lines end at LF; Latin letters become UTF-8 first."""
    if encoding != "UTF-8":
        block = block.decode(encoding).encode()
    if len(block) >= _MOST_BYTES:
        raise RunError(f"`{path}` has a line of more than 2 GiB")
    if not block.endswith(b"\n"):
        block += b"\n"
    codes = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(codes == _LINE_FEED)
    starts = np.empty_like(ends)
    starts[0], starts[1:] = 0, ends[:-1] + 1
    return Lines(block, codes, starts, ends, _is_utf8(block))


def find(lines: Lines, text: str) -> Places:
    """Where a text begins, each time that it does; occurrences do not overlap."""
    wanted = text.encode()
    if len(wanted) == 1:
        return np.flatnonzero(lines.codes == wanted[0])
    return np.array([found.start() for found in re.finditer(re.escape(wanted), lines.content)], np.int64)


def spans(content: bytes, starts: Places, ends: Places) -> pa.Array:
    """The texts between such places, which stand one behind the other, each followed by what lies up to the next."""
    bounds = np.empty(2 * len(starts) + 1, np.int32)
    bounds[0:-1:2], bounds[1::2], bounds[-1] = starts, ends, ends[-1] if len(ends) else 0
    return pa.StringArray.from_buffers(2 * len(starts), pa.py_buffer(bounds), pa.py_buffer(content))


def chosen_of(found: pa.Array, chosen: Places, nothing: Mask) -> pa.Array:
    """Texts of `spans` by their numbers; NULL where there is nothing."""
    return found.take(pa.array(2 * chosen, mask=nothing if nothing.any() else None))


def texts(content: bytes, starts: Places, ends: Places, nothing: Mask | None = None) -> pa.Array:
    """The texts between such places, which stand one behind the other; NULL where there is nothing."""
    nowhere = np.zeros(len(starts), np.bool_) if nothing is None else nothing
    return chosen_of(spans(content, starts, ends), np.arange(len(starts)), nowhere)


def _is_utf8(block: bytes) -> bool:
    bounds = np.array([0, len(block)], np.int32)
    try:
        pa.StringArray.from_buffers(1, pa.py_buffer(bounds), pa.py_buffer(block)).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
