"""Files of a history are known by a checksum of their address, as Spark spells it."""

from __future__ import annotations

import zlib
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

from lakelogic.plan.files import StagedFile
from lakelogic.table.history_files import marked_files
from lakelogic.table.partition_text import partition_text

FILES = (StagedFile("batch-1/day=2024-01-01/a.parquet", 1, 1), StagedFile("batch-1/day=2024-01-02/a.parquet", 1, 1))


def mark(address: str) -> int:
    return zlib.crc32(address.encode())


def test_a_file_is_known_by_its_address_with_one_slash_or_three() -> None:
    for start in ("file:", "file://"):
        marks = frozenset([mark(f"{start}/lake/my%20table/batch-1/day=2024-01-02/a.parquet")])
        assert marked_files("/lake/my table", FILES, marks) == FILES[1:]


def test_an_address_that_nobody_knows_means_all_files() -> None:
    assert marked_files("/lake", FILES, frozenset([7])) == FILES


def test_no_mark_means_no_file() -> None:
    assert marked_files("/lake", FILES, frozenset()) == ()


def test_partition_values_are_written_as_in_the_log_and_the_folders() -> None:
    values = [
        None,
        True,
        date(2024, 2, 29),
        Decimal("1E+2"),
        datetime(2024, 2, 29, 5, tzinfo=timezone(timedelta(hours=2))),
    ]
    assert [partition_text(value) for value in values] == [None, "true", "2024-02-29", "100", "2024-02-29 03:00:00"]
