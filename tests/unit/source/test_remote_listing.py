"""Patterns over keys match as patterns over folders do."""

from __future__ import annotations

import pytest

from lakelogic.source.remote_listing import _matched


@pytest.mark.parametrize(
    ("key", "pattern", "matched"),
    [
        ("a.csv", "*.csv", 1),
        ("x/a.csv", "*.csv", None),
        ("x/a.csv", "*/*.csv", 2),
        ("x/y/a.csv", "**/*.csv", 3),
        ("a.csv", "**/*.csv", 1),
        ("2026-01/a.csv", "2026-*", 1),  # a folder that the pattern names
        ("p1/a.csv", "p[0-9]/a.csv", 2),
        ("px/a.csv", "p[0-9]/a.csv", None),
        ("p1/a.csv", "p[!0-9]/a.csv", None),
        ("x/y/z.csv", "x/**", 1),
        ("a.csv.gz", "*.csv", None),
        ("ab.csv", "a?.csv", 1),
    ],
)
def test_patterns(key: str, pattern: str, matched: int | None) -> None:
    assert _matched(key.split("/"), pattern.split("/")) == matched
