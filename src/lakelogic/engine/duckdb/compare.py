"""Two tables as bags of rows: what one has more often than the other, found by one aggregation that may spill.

Equal here means the same bits to whoever reads the table: NaN is NaN, NULL is NULL, and -0.0 is not 0.0.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from lakelogic.core.keys import MaskKeys
from lakelogic.engine.duckdb.session import Session
from lakelogic.engine.duckdb.types import quote
from lakelogic.engine.local.read_delta import dataset_of
from lakelogic.plan.model import DECRYPT_FUNCTION, HIDDEN_PREFIX
from lakelogic.storage.files import folder_exists
from lakelogic.storage.tables import find_delta

# Of each side, how many rows are looked at to find those that belong together.
_LOOKED_AT = 200
_SHOWN_DIGITS = 8
_SIGN = "lakelogic_side"


@dataclass(frozen=True, slots=True)
class Comparing:
    """How rows are looked at: columns that are left out, those that may be seen, those that tell a row."""

    ignored: frozenset[str] = frozenset()
    visible: frozenset[str] | None = None  # of the author's columns; None: all of them
    keys: tuple[str, ...] = ()
    shown: int = 5

    def hides(self, name: str) -> bool:
        return self.visible is not None and name not in self.visible and not name.startswith(HIDDEN_PREFIX)


@dataclass(frozen=True, slots=True)
class RowPair:
    """A row of one side and the row of the other that is most like it; None where there is none."""

    left: Mapping[str, Any] | None
    right: Mapping[str, Any] | None

    @property
    def differing(self) -> tuple[str, ...]:
        left, right = self.left or {}, self.right or {}
        names = dict.fromkeys([*left, *right])
        return tuple(n for n in names if n not in left or n not in right or not _same(left[n], right[n]))


@dataclass(frozen=True, slots=True)
class BagDifference:
    """How two tables differ: in columns (then rows are not compared), or in rows, the first of them in pairs."""

    rows: tuple[int, int]
    columns: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    only_left: int = 0
    only_right: int = 0
    pairs: tuple[RowPair, ...] = ()

    @property
    def equal(self) -> bool:
        return self.columns is None and not self.only_left and not self.only_right


class TableComparer:
    """Compares tables in a database of its own; personal values are looked at as salted digests only."""

    def __init__(self, keys: MaskKeys) -> None:
        self._session = Session(keys)
        self._secret = keys.secret
        self._salt = secrets.token_hex(16)

    def close(self) -> None:
        self._session.close()

    def compare(self, left: str, right: str, how: Comparing) -> BagDifference:
        """Compare the tables at two paths; one that is not there has no rows."""
        sides = [_open(path) for path in (left, right)]
        counts = tuple(side.count_rows() if side is not None else 0 for side in sides)
        rows = (counts[0], counts[1])
        if sides[0] is None or sides[1] is None:
            # An engine may make an empty table where another makes none.
            return BagDifference(rows, only_left=rows[0], only_right=rows[1])
        schemas = [_columns(side.schema, how.ignored) for side in (sides[0], sides[1])]
        if schemas[0] != schemas[1]:
            return BagDifference(rows, columns=(schemas[0], schemas[1]))
        return self._compare_rows(sides[0], sides[1], rows, how)

    def _compare_rows(
        self, left: ds.Dataset, right: ds.Dataset, rows: tuple[int, int], how: Comparing
    ) -> BagDifference:
        fields = [field for field in left.schema if field.name not in how.ignored]
        connection = self._session.connection
        connection.register("left_rows", left)
        connection.register("right_rows", right)
        columns = ", ".join(f"{self._comparable(field, how)} AS {quote(field.name)}" for field in fields)
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE differing AS "
            f"SELECT * EXCLUDE ({_SIGN}), CAST(sum({_SIGN}) AS BIGINT) AS {_SIGN} FROM ("
            f"SELECT {columns}, 1 AS {_SIGN} FROM left_rows UNION ALL SELECT {columns}, -1 FROM right_rows) "
            f"GROUP BY ALL HAVING sum({_SIGN}) <> 0"
        )
        only_left, only_right = self._excess(1), self._excess(-1)
        pairs = _pair(self._first(1, how), self._first(-1, how), how) if only_left or only_right else ()
        return BagDifference(rows, None, only_left, only_right, pairs)

    def _comparable(self, field: pa.Field, how: Comparing) -> str:
        name = quote(field.name)
        if pa.types.is_nested(field.type):
            name = f"CAST(to_json({name}) AS VARCHAR)"
        elif pa.types.is_floating(field.type):
            name = f"CAST({name} AS VARCHAR)"
        elif pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            name = f"hex({name})"
        if self._secret and (pa.types.is_string(field.type) or pa.types.is_large_string(field.type)):
            # The same value is another text each time that it is encrypted.
            opened = self._digest(f"{DECRYPT_FUNCTION}({name})")
            name = f"CASE WHEN starts_with({name}, 'enc:') THEN coalesce({opened}, {name}) ELSE {name} END"
        return self._digest(f"CAST({name} AS VARCHAR)") if how.hides(field.name) else name

    def _digest(self, text: str) -> str:
        """NULL stays NULL: that a value is missing may be seen."""
        return f"('hidden:' || left(sha256('{self._salt}' || {text}), {_SHOWN_DIGITS * 2}))"

    def _excess(self, sign: int) -> int:
        sql = f"SELECT coalesce(sum(abs({_SIGN})), 0) FROM differing WHERE sign({_SIGN}) = {sign}"
        return int(self._session.connection.execute(sql).fetchall()[0][0])

    def _first(self, sign: int, how: Comparing) -> list[dict[str, Any]]:
        columns = [name for name, *_ in self._session.connection.execute("DESCRIBE differing").fetchall()]
        order = ", ".join(map(quote, dict.fromkeys([*how.keys, *columns])))
        found = self._session.connection.execute(
            f"SELECT * EXCLUDE ({_SIGN}, copy) FROM (SELECT *, unnest(range(abs({_SIGN}))) AS copy FROM differing "
            f"WHERE sign({_SIGN}) = {sign}) ORDER BY {order} LIMIT {_LOOKED_AT}"
        )
        names = [each[0] for each in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _open(path: str) -> ds.Dataset | None:
    table = find_delta(path)
    if table is not None:
        return dataset_of(table, path)
    if not folder_exists(path):
        return None
    files = ds.dataset(path, format="parquet", partitioning="hive")
    return files if files.schema.names else None  # a folder that nothing was published to


def _columns(schema: pa.Schema, ignored: frozenset[str]) -> tuple[str, ...]:
    return tuple(f"{field.name} {field.type}" for field in schema if field.name not in ignored)


def _pair(left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]], how: Comparing) -> tuple[RowPair, ...]:
    """Put rows beside those that they have most in common with; the key says more than all other columns."""
    free = list(right)
    pairs = []
    for row in left:
        best = max(free, key=lambda other: _likeness(row, other, how.keys), default=None)
        if best is not None and _likeness(row, best, how.keys) > 0:
            free.remove(best)
            pairs.append(RowPair(row, best))
        else:
            pairs.append(RowPair(row, None))
    pairs += [RowPair(None, row) for row in free]
    return tuple(pairs[: how.shown])


def _likeness(row: Mapping[str, Any], other: Mapping[str, Any], keys: tuple[str, ...]) -> int:
    if any(not _same(row[key], other[key]) for key in keys if key in row):
        return 0
    return sum(_same(value, other[name]) for name, value in row.items() if not name.startswith(HIDDEN_PREFIX))


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)
