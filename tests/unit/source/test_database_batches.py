"""Rows of a driver as Arrow: what goes wrong on the way is told without a value."""

from __future__ import annotations

import sqlite3
from typing import Any

import pyarrow as pa
import pytest

from lakelogic.core.errors import RunError
from lakelogic.source.database_client import batches_of

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("words", pa.string())])


class Cursor:
    """Gives batches, and then fails where it is told to."""

    def __init__(self, *batches: Any) -> None:
        self.batches = list(batches)

    def fetchmany(self, size: int) -> Any:
        found = self.batches.pop(0) if self.batches else []
        if isinstance(found, Exception):
            raise found
        return found


def read(*batches: Any) -> tuple[list[Any], list[str]]:
    closed: list[str] = []
    reader = batches_of(Cursor(*batches), SCHEMA, 2, lambda: closed.append("closed"), sqlite3.Error)
    try:
        return reader.read_all().to_pylist(), closed
    finally:
        assert closed == ["closed"]


def test_all_batches_are_read() -> None:
    assert read([(1, "a"), (2, None)], [(3, "c")])[0][2] == {"id": 3, "words": "c"}


def test_a_driver_that_fails_in_the_middle_may_be_tried_again() -> None:
    with pytest.raises(RunError, match="middle of a query: disk image is malformed") as caught:
        read([(1, "a")], sqlite3.DatabaseError("disk image is malformed"))
    assert caught.value.problem.code == "LL439" and caught.value.retryable


@pytest.mark.parametrize("value", ["needle", 2**70])
def test_a_value_of_another_kind_is_not_told(value: Any) -> None:
    with pytest.raises(RunError, match="column `id` holds a value that is no int64") as caught:
        read([(value, "a")])
    assert "needle" not in str(caught.value)
