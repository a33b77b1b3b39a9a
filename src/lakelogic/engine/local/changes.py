"""What a change data feed leaves: rows that came, less the same rows that went."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakelogic.core.slices import CAME, CHANGE_COLUMNS, OWN_PREFIX, WENT

_CAME, _WENT, _PLACE = "came", "went", "place"


def net_changes(changes: pa.Table) -> pa.Table:
    """Rows that are in the table now and were not before.

    A commit that replaces files tells every row of them, gone and come again. Those that came back as they were are
    not new, whichever run stamped them.
    """
    kinds = changes.column("_change_type")
    came, went = (pc.is_in(kinds, value_set=pa.array(names)) for names in (CAME, WENT))
    rows = changes.drop_columns(list(CHANGE_COLUMNS))
    if not pc.any(went).as_py():
        return rows.filter(came)
    codes = _codes(rows.select([name for name in rows.column_names if not name.startswith(OWN_PREFIX)]))
    counted = codes.append_column(_CAME, pc.cast(came, pa.int64())).append_column(_WENT, pc.cast(went, pa.int64()))
    alike = counted.group_by(codes.column_names).aggregate([(_CAME, "sum"), (_WENT, "sum")])
    placed = counted.append_column(_PLACE, pa.array(range(len(rows)), pa.int64()))
    of_row = placed.join(alike, codes.column_names).sort_by(_PLACE)
    return rows.filter(_keep(of_row, changes.column("_commit_version"), codes.column_names))


def _codes(rows: pa.Table) -> pa.Table:
    """Numbers that are equal where values are: Arrow groups no lists and no structs."""
    columns = {f"c{place}": _code(column) for place, column in enumerate(rows.columns)}
    return pa.table(columns)


def _code(column: pa.ChunkedArray) -> Any:
    whole = column.combine_chunks()
    plain = pa.array([repr(value) for value in whole.to_pylist()]) if pa.types.is_nested(whole.type) else whole
    return plain.dictionary_encode(null_encoding="encode").indices


def _keep(of_row: pa.Table, versions: pa.ChunkedArray, keys: list[str]) -> Any:
    left = pc.subtract(of_row.column(f"{_CAME}_sum"), of_row.column(f"{_WENT}_sum"))
    arrived = pc.equal(of_row.column(_CAME), 1)
    whole = pc.and_(arrived, pc.equal(of_row.column(f"{_WENT}_sum"), 0))
    # Of rows that are alike some went: as many stay as are left, the newest.
    some = pc.and_(arrived, pc.and_(pc.greater(left, 0), pc.greater(of_row.column(f"{_WENT}_sum"), 0)))
    chosen = of_row.append_column("left", left).append_column("version", versions).filter(some)
    taken: Counter[tuple[int, ...]] = Counter()
    places = set()
    for row in chosen.sort_by([("version", "descending")]).to_pylist():
        key = tuple(row[name] for name in keys)
        if taken[key] < row["left"]:
            taken[key] += 1
            places.add(row[_PLACE])
    return pc.or_(whole, pc.is_in(of_row.column(_PLACE), value_set=pa.array(sorted(places), pa.int64())))
