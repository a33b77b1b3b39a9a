"""Rules that a sample suggests. They count and reject nothing until somebody has looked at them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from lakelogic.onboard.bootstrap.names import snake, unique
from lakelogic.onboard.bootstrap.profiles import Profile

_LEAST_ROWS = 20  # of fewer, nothing follows
_MOST_CHOICES, _ROWS_PER_CHOICE, _LONGEST_CHOICE = 12, 5, 40
_LEAST_SHAPES, _LONGEST_SHAPE = 5, 40
_EMAIL_PATTERN = r"^[^@\s]+@[^@\s]+\.[^@\s]+$"
_SHARE = re.compile(r"(^|_)(pct|percent|percentage|prozent)(_|$)")
_OLDEST = "1900-01-01"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A rule as the contract writes it, and what speaks for it."""

    name: str
    kind: str
    body: Any  # of plain values, as in YAML
    evidence: str


def suggest_rules(profiles: Sequence[Profile], key: Sequence[str]) -> tuple[Suggestion, ...]:
    """All rules that hold for every row of the sample, each under a name of its own."""
    found: list[Suggestion] = []
    for rule in _all(profiles, key):
        name = unique(rule.name, [other.name for other in found])
        found.append(Suggestion(name, rule.kind, rule.body, rule.evidence))
    return tuple(found)


def _all(profiles: Sequence[Profile], key: Sequence[str]) -> Iterator[Suggestion]:
    looked_at = [each for each in profiles if each.rows >= _LEAST_ROWS]
    present = [each for each in looked_at if not each.nulls and each.name not in key]
    if present:
        evidence = f"no null in {present[0].rows} rows"
        yield Suggestion("always_present", "not_null", [each.name for each in present], evidence)
    for each in looked_at:
        yield from _of_column(each, is_key=each.name in key)


def _of_column(profile: Profile, *, is_key: bool) -> Iterator[Suggestion]:
    word = snake(profile.name) or "column"
    if profile.personal is not None:
        if "e-mail" in profile.personal and all(re.search(_EMAIL_PATTERN, value) for value in profile.values):
            body = {"field": profile.name, "pattern": _EMAIL_PATTERN}
            yield Suggestion(f"{word}_looks_right", "regex_match", body, f"all {profile.distinct} values fit")
        return
    if profile.kind.type == "string" and not is_key:
        choices = sorted(profile.values)
        if _are_choices(profile):
            values = {"field": profile.name, "values": choices}
            yield Suggestion(f"{word}_is_known", "accepted_values", values, profile.evidence)
            return
    if profile.kind.type == "string" and (shape := _shape(profile)) is not None:
        evidence = f"all {profile.distinct} values have this shape"
        yield Suggestion(f"{word}_has_its_shape", "regex_match", {"field": profile.name, "pattern": shape}, evidence)
    limits = _limits(profile) if not profile.identifies else {}
    if limits:
        yield Suggestion(f"{word}_in_range", "range", {"field": profile.name, **limits}, profile.evidence)


def _are_choices(profile: Profile) -> bool:
    few = 0 < profile.distinct <= min(_MOST_CHOICES, (profile.rows - profile.nulls) // _ROWS_PER_CHOICE)
    return few and all(0 < len(value) <= _LONGEST_CHOICE and value.isprintable() for value in profile.values)


def _shape(profile: Profile) -> str | None:
    """The one pattern of letters and digits that all values have, such as `C0001`; None where they differ."""
    if not profile.distinct >= _LEAST_SHAPES:
        return None
    shapes = {_shape_of(value) for value in profile.values}
    shape = shapes.pop() if len(shapes) == 1 else None
    return f"^{shape}$" if shape and "[0-9]" in shape else None


def _shape_of(value: str) -> str | None:
    if not value.isascii() or not value.isprintable() or len(value) > _LONGEST_SHAPE:
        return None
    parts = []
    for run in re.findall(r"[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]+", value):
        for letters in ("A-Z", "a-z", "0-9"):
            if re.fullmatch(f"[{letters}]+", run):
                parts.append(f"[{letters}]{{{len(run)}}}" if len(run) > 1 else f"[{letters}]")
                break
        else:
            parts.append("".join(f"[{char}]" if char not in "\\^[]" else f"\\{char}" for char in run))
    return "".join(parts)


def _limits(profile: Profile) -> dict[str, Any]:
    if profile.low is None:
        return {}
    if isinstance(profile.low, str):
        return {"min": _OLDEST} if profile.low >= _OLDEST else {}
    low, high = Decimal(str(profile.low)), Decimal(str(profile.high))
    limits: dict[str, Any] = {"min": 0} if low >= 0 else {}
    if limits and high <= 100 and _SHARE.search(snake(profile.name)):
        limits["max"] = 100
    return limits
