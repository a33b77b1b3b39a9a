"""Which files of a landing zone are one dataset: by their folder and their name, without dates and numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from lakelogic.contract.source import source_format_of
from lakelogic.onboard.bootstrap.names import snake, unique

_DAY = r"(?:19|20)\d{2}[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:0[1-9]|[12]\d|3[01])"
_CLOCK = r"(?:[T _-]?(?:[01]\d|2[0-3])[-_.:]?[0-5]\d(?:[-_.:]?[0-5]\d(?:\.\d+)?)?Z?)?"
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
# What differs between the files of one dataset. The groups tell how the rest of the name is to be matched.
_CHANGING = re.compile(
    rf"(?P<any>part-\d{{5}}(?:-{_UUID})?(?:[-.]c\d+)?|{_UUID})"
    rf"|(?<!\d)(?P<day>{_DAY}{_CLOCK}|\d{{2}}[-_.]\d{{2}}[-_.](?:19|20)\d{{2}}|(?:19|20)\d{{2}}[-_.](?:0[1-9]|1[0-2]))(?!\d)"
    r"|(?P<copy> ?\(\d+\))"
    r"|(?:(?<=[-_. ])|^)(?P<number>\d+)(?=$|[-_. ])"
)
_PARTITION = re.compile(r"[^=]+=.*|\d{1,8}|(?:19|20)\d{2}[-_.]\d{2}(?:[-_.]\d{2})?")


@dataclass(frozen=True, slots=True)
class LandedFile:
    """A file, by its path below the landing zone."""

    path: str
    relative: str
    size: int


@dataclass(frozen=True, slots=True)
class Group:
    """Files of one dataset, and how a contract says which they are."""

    name: str
    folder: str  # below the landing zone; empty: the landing zone itself
    pattern: str
    format: str
    files: tuple[LandedFile, ...]
    within_folder: bool = False  # the pattern is part of the path: files of folders below are others'


@dataclass(slots=True)
class _Kind:
    """Files whose names differ by dates and numbers only."""

    folder: str
    title: str
    format: str
    patterns: set[str] = field(default_factory=set)
    exact: set[str] = field(default_factory=set)
    files: list[LandedFile] = field(default_factory=list)


def group_files(files: Sequence[LandedFile], root_name: str, format_: str | None = None) -> tuple[Group, ...]:
    """Datasets in the order of their names; `root_name` is for files that are called by nothing but a date."""
    kinds: dict[tuple[str, str, str], _Kind] = {}
    for file in sorted(files, key=lambda each: each.relative):
        place = PurePosixPath(file.relative)
        folder = _base_folder(place)
        stem, suffix = _split(place.name)
        title = "_".join(word for word in map(snake, _CHANGING.split(_masked(stem))) if word)
        kind = kinds.setdefault((folder, title, suffix), _Kind(folder, title, _format(place.name, format_)))
        kind.patterns.add(_pattern(stem, exact=False) + _escaped(suffix))
        kind.exact.add(_pattern(stem, exact=True) + _escaped(suffix))
        kind.files.append(file)
    return tuple(_groups(list(kinds.values()), root_name))


def _groups(kinds: list[_Kind], root_name: str) -> list[Group]:
    groups: list[Group] = []
    titles = [kind.title for kind in kinds]
    everything = [(file, number) for number, kind in enumerate(kinds) for file in kind.files]
    for number, kind in enumerate(kinds):
        last = kind.folder.rsplit("/", 1)[-1] if kind.folder else root_name
        name = kind.title or snake(last) or "dataset"
        if titles.count(kind.title) > 1 and kind.folder and kind.title:
            name = f"{snake(last)}_{name}".strip("_")
        pattern, within = _choose_pattern(kind, number, everything)
        name = unique(name, [group.name for group in groups])
        groups.append(Group(name, kind.folder, pattern, kind.format, tuple(kind.files), within))
    return sorted(groups, key=lambda group: group.name)


def _choose_pattern(kind: _Kind, number: int, everything: list[tuple[LandedFile, int]]) -> tuple[str, bool]:
    """The widest pattern that no file of another dataset fits; one that only fits files of today where none does."""
    candidates = [next(iter(each)) for each in (kind.patterns, kind.exact) if len(each) == 1]
    for pattern in candidates:
        for within in (False, True):
            wanted = {file.path for file in kind.files}
            if {file.path for file, _ in everything if _fits(file, kind.folder, pattern, within)} == wanted:
                return pattern, within
    return _escaped(PurePosixPath(kind.files[-1].relative).name), True


def _fits(file: LandedFile, folder: str, pattern: str, within: bool) -> bool:
    """Whether a source with this folder and pattern would read the file; a folder is walked whole."""
    place = PurePosixPath(file.relative)
    parent = "" if str(place.parent) == "." else str(place.parent)
    below = parent == folder if within else not folder or parent == folder or parent.startswith(f"{folder}/")
    return below and fnmatchcase(place.name, pattern)


def _base_folder(place: PurePosixPath) -> str:
    """The folder without parts that are partitions: `orders/day=2026-02-06/` and `orders/2026/02/06/` are `orders`."""
    parts = list(place.parent.parts)
    while parts and _PARTITION.fullmatch(parts[-1]):
        parts.pop()
    return "/".join(parts)


def _split(name: str) -> tuple[str, str]:
    """Stem and extensions; a dot inside of a date is none."""
    found = re.search(r"(?:\.[A-Za-z][A-Za-z0-9]{0,9})+$", name)
    return (name[: found.start()], found.group(0)) if found and found.start() else (name, "")


def _format(name: str, given: str | None) -> str:
    return given or source_format_of(name, None, "file") or "csv"


def _masked(stem: str) -> str:
    """The stem with a mark for each part that changes."""
    return _CHANGING.sub(" ", stem)


def _pattern(stem: str, *, exact: bool) -> str:
    result, end = [], 0
    for found in _CHANGING.finditer(stem):
        result.append(_escaped(stem[end : found.start()]))
        part = found.group(0)
        if exact:
            result.append(re.sub(r"\d", "[0-9]", _escaped(part)))
        else:
            result.append("*" if found.lastgroup in ("any", "copy") else "[0-9]*")
        end = found.end()
    result.append(_escaped(stem[end:]))
    return re.sub(r"\*+", "*", "".join(result))


def _escaped(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text)
