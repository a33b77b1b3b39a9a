"""Days in the paths of files: what a folder or a name says of the files below it.

A folder may be a partition (`day=2026-11-01`, `year=2026/month=11/day=01`), three folders (`2026/11/01`) or hold a date
(`2026-11-01`, `20261101`); where no folder does, the file's name may (`orders_2026-11-01.csv`, `orders20261101.csv`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from lakelogic.core.errors import PlanError, RunError
from lakelogic.core.window import Window

_PARTITION = re.compile(r"([A-Za-z_]\w*)=(.*)")
_YEAR, _MONTH, _DAY = r"((?:19|20)\d{2})", r"(0[1-9]|1[0-2])", r"(0[1-9]|[12]\d|3[01])"
_DIVIDED = re.compile(rf"(?<![0-9]){_YEAR}(?P<mark>[-_.]){_MONTH}(?P=mark){_DAY}(?![0-9])")
# Eight digits inside a longer word may be anything, for example a part of a random name.
_COMPACT = re.compile(
    rf"(?:^[A-Za-z]+|(?<![0-9A-Za-z])){_YEAR}(?P<mark>){_MONTH}{_DAY}(?:T\d{{2,6}}Z?|\d{{2}}|\d{{4}}|\d{{6}})?(?![0-9A-Za-z])"
)
_PARTS = ({"year", "yyyy", "y"}, {"month", "mm", "m"}, {"day", "dd", "d"})
_HINT = "name the files that are meant by source.pattern, or run without a window"


def folder_columns(paths: Iterable[str]) -> tuple[str, ...]:
    """The names of all partition folders, in order of appearance; those of the program are none."""
    folders = dict.fromkeys(path.rpartition("/")[0] for path in paths)
    names = dict.fromkeys(name for folder in folders for name in partition_values(folder))
    return tuple(name for name in names if not name.startswith("_lakelogic_"))


def partition_values(folder: str) -> dict[str, str]:
    """The values of the partition folders of a path; of two with one name the last counts."""
    if "=" not in folder:
        return {}
    found = (_PARTITION.fullmatch(part) for part in folder.split("/"))
    return {match[1]: match[2] for match in found if match}


@dataclass(frozen=True, slots=True)
class DatedPaths:
    """The files that a window is about, by their paths below the source."""

    window: Window
    # The partition columns that hold the date of the rows. A file without one is looked into.
    # Without names, the day of the file is meant, whatever says it, and every file must have one.
    columns: tuple[str, ...] = ()
    compact: bool = False  # values of those columns are written 20261101

    def leaves_out(self, folder: str) -> bool:
        """Whether no file below a folder is meant."""
        days = [self._partition_day(folder)] if self.columns else list(_folder_days(folder.split("/")))
        return len(days) == 1 and days[0] is not None and not self._covers(days[0])

    def wants(self, file: str) -> bool:
        """Whether a file is meant; raises where that cannot be told."""
        folder, _, name = file.rpartition("/")
        if self.columns:
            return not self.leaves_out(folder)
        days = _folder_days(folder.split("/")) or _days_in(name)
        if len(days) == 1:
            return self._covers(next(iter(days)))
        several = ", ".join(str(day) for day in sorted(days))
        problem = (
            f"the path of `{file}` names several days ({several})" if days else f"the path of `{file}` has no date"
        )
        raise RunError(f"{problem}, so that it is in no window or in every one", code="LL356", hint=_HINT)

    def _covers(self, day: date) -> bool:
        return self.window.first_day <= day < self.window.day_after

    def _partition_day(self, folder: str) -> date | None:
        values = partition_values(folder)
        value = next((values[name] for name in self.columns if name in values), "")
        divided = re.fullmatch(r"\d{4}-\d{2}-\d{2}", value)
        written = divided or (re.fullmatch(r"\d{8}", value) if self.compact else None)
        return _day(value[:4], value[-5:-3] if divided else value[4:6], value[-2:]) if written else None


def undated_source(what: str) -> PlanError:
    """What to raise where a window is told by the dates of files, and there are no files."""
    return PlanError(
        f"a window of raw Bronze is told by the dates in the paths of files, and the source is {what}",
        code="LL356",
        hint="run it without a window: what is new is read once; narrow the contract that reads this table",
    )


def _folder_days(folders: Sequence[str]) -> frozenset[date]:
    found = {day for folder in folders for day in _days_in(folder.partition("=")[2] or folder)}
    for parts in zip(folders, folders[1:], folders[2:], strict=False):
        found |= _three_folders(parts)
    return frozenset(found)


def _three_folders(parts: Sequence[str]) -> set[date]:
    """`2026/11/01` or `year=2026/month=11/day=01`."""
    values = []
    for part, names in zip(parts, _PARTS, strict=True):
        name, mark, value = part.rpartition("=")
        if not value.isdecimal() or (mark and name.lower() not in names):
            return set()
        values.append(value)
    day = _day(*values) if re.fullmatch(r"(19|20)\d{2}", values[0]) else None
    return {day} if day else set()


def _days_in(text: str) -> frozenset[date]:
    matches = [*_DIVIDED.finditer(text), *_COMPACT.finditer(text)]
    days = (_day(match[1], match[3], match[4]) for match in matches)
    return frozenset(day for day in days if day is not None)


def _day(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None
