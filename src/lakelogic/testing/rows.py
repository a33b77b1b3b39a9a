"""Rows of tables in a form that can be written down as JSON, and their difference in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

Row = Mapping[str, Any]

ANY = "<any>"  # an expected value that any value but NULL fulfils
ENCRYPTED = "<encrypted>"  # an expected value that any cipher text fulfils
_CIPHER_PREFIX = "enc:"


def plain(value: Any) -> Any:
    """A value as JSON says it: instants as ISO text in UTC, decimals as text, bytes as hex digits."""
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z") if value.tzinfo else value.isoformat()
        case date():
            return value.isoformat()
        case Decimal():
            return format(value, "f")
        case bytes():
            return value.hex()
        case float() if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
            return {str(key): plain(item) for key, item in value}  # a map, as Arrow gives it
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return value


def difference(expected: Sequence[Row], actual: Iterable[Row]) -> str:
    """What one side has and the other has not; empty when equal.

    Every expected row speaks of the columns that it names only; those that name most choose first.
    """
    left = [{name: plain(value) for name, value in row.items()} for row in actual]
    names = sorted({name for row in expected for name in row})
    absent = [name for name in names if left and all(name not in row for row in left)]
    if absent:
        return f"  columns that are not there: {', '.join(absent)}; there are: {', '.join(left[0])}"
    missing = []
    for row in sorted(expected, key=len, reverse=True):
        found = next((number for number, other in enumerate(left) if _fits(row, other)), None)
        if found is None:
            missing.append(row)
        else:
            del left[found]
    lines = [f"  missing {_line(row)}" for row in missing]
    lines += [f"  extra   {_line({name: row.get(name) for name in names or row})}" for row in left]
    return "\n".join(lines)


def _fits(expected: Row, actual: Row) -> bool:
    return all(_equal(value, actual.get(name)) for name, value in expected.items())


def _equal(expected: Any, actual: Any) -> bool:
    if expected == ANY:
        return actual is not None
    if expected == ENCRYPTED:
        return isinstance(actual, str) and actual.startswith(_CIPHER_PREFIX)
    # True is 1 in Python; in a table it is not.
    return bool(expected == actual) and isinstance(expected, bool) == isinstance(actual, bool)


def _line(row: Row) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=False)
