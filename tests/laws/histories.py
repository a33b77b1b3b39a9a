"""Random histories, and in thirty lines of plain Python what an SCD2 table must make of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

START = datetime(2024, 1, 1, tzinfo=UTC)
END = datetime(9999, 12, 31, tzinfo=UTC)
NAN = float("nan")


@dataclass(frozen=True)
class Seen:
    """One observation: a row at an instant, or a delete."""

    key: int
    at: datetime
    gone: bool = False
    tier: str | None = None  # tracked
    code: str | None = None  # tracked
    score: float | None = None  # tracked
    note: str | None = None  # not tracked

    @property
    def state(self) -> str:
        score: Any = "NaN" if self.score is not None and self.score != self.score else self.score
        return _text({"tier": self.tier, "code": self.code, "score": 0.0 if score == 0 else score})

    @property
    def rank(self) -> tuple[Any, ...]:
        """Values column by column, in the order of their names, tracked ones first; NULL is least, NaN greatest."""
        score = (2, 0.0) if self.score != self.score else _place(self.score)
        return self.gone, _place(self.code), score, _place(self.tier), _place(self.note)


@dataclass(frozen=True)
class Version:
    """One row of the table."""

    key: int
    state: str
    note: str | None
    valid_from: datetime
    valid_to: datetime
    current: bool
    number: int


def oracle(observations: Iterable[Seen]) -> list[Version]:
    """The versions that a set of observations makes."""
    winners: dict[tuple[int, datetime], Seen] = {}
    for seen in observations:
        known = winners.get((seen.key, seen.at))
        if known is None or seen.rank > known.rank:
            winners[seen.key, seen.at] = seen
    versions: list[Version] = []
    for seen in (winners[place] for place in sorted(winners)):
        last = versions[-1] if versions and versions[-1].key == seen.key else None
        if seen.gone:
            if last is not None and last.current:
                versions[-1] = _closed(last, seen.at)
            continue
        if last is not None and last.current and last.state == seen.state:
            continue
        if last is not None and last.current:
            versions[-1] = _closed(last, seen.at)
        number = last.number + 1 if last else 1
        versions.append(Version(seen.key, seen.state, seen.note, seen.at, END, True, number))
    return versions


def _closed(version: Version, at: datetime) -> Version:
    return Version(version.key, version.state, version.note, version.valid_from, at, False, version.number)


def histories(keys: int, seed: int) -> list[Seen]:
    """Inserts, changes, deletes, re-adds, duplicates, NULLs and ties, dense in time so that they meet."""
    chance = random.Random(seed)
    found = []
    for key in range(keys):
        instants = [START + timedelta(hours=chance.randrange(12), microseconds=chance.randrange(2)) for _ in range(4)]
        for _ in range(chance.randrange(1, 11)):
            at = chance.choice(instants) if chance.random() < 0.3 else START + timedelta(hours=chance.randrange(12))
            if chance.random() < 0.2:
                found.append(Seen(key, at, gone=True))
                continue
            # ('a', 'bc') and ('ab', 'c') are two states; so are '' and NULL.
            tier, code = chance.choice([("a", "bc"), ("ab", "c"), ("a", None), (None, "a"), ("", "a"), (None, None)])
            score = chance.choice([None, None, 1.5, NAN, 0.0, -0.0])
            found.append(Seen(key, at, False, tier, code, score, chance.choice([None, "x", "y"])))
        if chance.random() < 0.3:
            found.append(chance.choice(found))
    return found


def broken_laws(versions: list[Version]) -> list[str]:
    """What no history may show, whatever it was made of."""
    told = []
    by_key: dict[int, list[Version]] = {}
    for version in sorted(versions, key=lambda v: (v.key, v.valid_from)):
        by_key.setdefault(version.key, []).append(version)
    for key, chain in by_key.items():
        if [version.number for version in chain] != list(range(1, len(chain) + 1)):
            told.append(f"key {key}: numbers are not 1, 2, 3, ...")
        if any(version.valid_from >= version.valid_to for version in chain):
            told.append(f"key {key}: a version ends before it starts")
        if any(first.valid_to > second.valid_from for first, second in pairwise(chain)):
            told.append(f"key {key}: versions overlap")
        if [version.current for version in chain[:-1]] != [False] * (len(chain) - 1):
            told.append(f"key {key}: a version that is not the last is current")
        if chain[-1].current != (chain[-1].valid_to == END):
            told.append(f"key {key}: the current flag does not agree with the end")
    return told


def alive(observations: Iterable[Seen], at: datetime) -> set[int]:
    """Keys that live at an instant: what was last seen of them by then is a row."""
    last: dict[int, tuple[datetime, bool]] = {}
    for seen in observations:
        if seen.at <= at:
            # A delete of the same instant wins.
            last[seen.key] = max(last.get(seen.key, (seen.at, seen.gone)), (seen.at, seen.gone))
    return {key for key, (_, gone) in last.items() if not gone}


def _place(value: Any) -> tuple[int, Any]:
    return (0, 0) if value is None else (1, value)


def _text(values: dict[str, Any]) -> str:
    return json.dumps(values, separators=(",", ":"), ensure_ascii=False)
