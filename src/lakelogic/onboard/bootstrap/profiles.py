"""What a sample shows about each column, and which columns tell its rows apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import combinations
from typing import Any

from lakelogic.onboard.bootstrap.kinds import Kind, kind_of
from lakelogic.onboard.bootstrap.names import column_names, snake
from lakelogic.onboard.bootstrap.personal import find_personal

_ID = re.compile(r"(^|_)(id|key|uuid|guid|no|nr|number|code|ref|reference)$|^id")
_MOST_PAIRS = 200


@dataclass(frozen=True, slots=True)
class Profile:
    """One column of a sample; its values are for judging and never written down, unless a rule is made of them."""

    source: str  # the name that the files have
    name: str  # the name that the table has
    rows: int
    nulls: int
    kind: Kind
    values: frozenset[str] = field(repr=False)
    personal: str | None = None
    low: Any = None  # of numbers and dates
    high: Any = None

    @property
    def distinct(self) -> int:
        return len(self.values)

    @property
    def identifies(self) -> bool:
        """Whether the name is that of an identifier."""
        return _ID.search(snake(self.name)) is not None

    @property
    def evidence(self) -> str:
        """What was seen, in numbers; limits only where they are about no person."""
        told = [f"{self.rows} rows", f"{self.nulls} null", f"{self.distinct} distinct"]
        if self.low is not None and self.personal is None:
            told.append(f"{self.low} to {self.high}")
        return ", ".join(told)


def profile_columns(
    cells: Mapping[str, Sequence[Any]], types: Mapping[str, str | None], *, plain: bool = False
) -> tuple[Profile, ...]:
    """Look at the columns of a sample; those without a type are text. `plain`: all of them stay text."""
    names = column_names(list(cells))
    return tuple(
        _profile(source, name, values, types.get(source), plain=plain)
        for (source, values), name in zip(cells.items(), names, strict=True)
    )


def _profile(source: str, name: str, values: Sequence[Any], given: str | None, *, plain: bool) -> Profile:
    there = [value for value in values if value is not None]
    texts = frozenset(str(value) for value in there)
    kind = Kind(given) if given is not None else kind_of(name, texts)
    low, high = _limits(there, kind)
    if plain and kind.type != "string":
        kind = Kind("string", note=f"would be {kind.type} if the header could be used")
    personal = find_personal(source, texts if given in (None, "string") else ())
    return Profile(source, name, len(values), len(values) - len(there), kind, texts, personal, low, high)


def _limits(there: Sequence[Any], kind: Kind) -> tuple[Any, Any]:
    numbers: list[Any]
    if kind.type == "long" or kind.type.startswith("decimal"):
        numbers = [Decimal(str(value).strip()) for value in there]
    elif kind.type in ("int", "short", "byte", "float", "double"):
        numbers = [value for value in map(float, there) if value == value]
    elif kind.type == "date" and kind.format is None:
        numbers = [value.isoformat() if isinstance(value, date) else str(value).strip() for value in there]
    else:
        numbers = []
    return (min(numbers), max(numbers)) if numbers else (None, None)


def find_key(profiles: Sequence[Profile], cells: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
    """The columns that tell the rows of the sample apart and are never absent; the most likely ones, or none."""
    able = [each for each in profiles if each.rows > 1 and not each.nulls and _can_be_key(each)]
    alone = [each for each in able if each.distinct == each.rows]
    named = [each for each in alone if each.identifies]
    if named:
        return (named[0].name,)
    if alone and alone[0] is profiles[0]:
        return (alone[0].name,)
    told = [each for each in able if each.identifies or each.kind.type in ("date", "timestamp")]
    for first, second in list(combinations(told, 2))[:_MOST_PAIRS]:
        pairs = set(zip(cells[first.source], cells[second.source], strict=True))
        if len(pairs) == first.rows and (first.identifies or second.identifies):
            return (first.name, second.name)
    return ()


def _can_be_key(profile: Profile) -> bool:
    nested = any(mark in profile.kind.type for mark in "<")
    return not nested and profile.kind.type not in ("float", "double", "boolean", "binary") and profile.personal is None
