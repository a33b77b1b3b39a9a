"""The text of the MERGE that applies change events; `t` is the table, `s` the newest state of each key of the batch.

A row of `s` has the newest image of its key in the batch (NULL position: there is none), and the newest delete
of it that anybody knows of, from this batch, from earlier ones, or by a truncate. What happens follows from three
positions alone, so that neither the order in which batches arrive nor a repetition can change the outcome.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakelogic.plan.model import DELETED_POSITION_COLUMN, POSITION_COLUMN
from lakelogic.plan.writes import WriteCdc
from lakelogic.table.merge_sql import merge_head
from lakelogic.table.spark_staged import quoted

# Of `s`, beside the columns of the table.
GONE, GONE_AT, GONE_WHY = "_lakelogic_gone", "_lakelogic_gone_at", "_lakelogic_gone_why"
KNOWN_AT = "_lakelogic_known_"  # + number of a column: the newest event of the batch that told its value

_TABLE = f"coalesce(t.{quoted(POSITION_COLUMN)}, '')"
_IMAGE = f"coalesce(s.{quoted(POSITION_COLUMN)}, '')"
_GONE = f"coalesce(s.{quoted(GONE)}, '')"


def render_cdc(
    path: str,
    source: str,
    write: WriteCdc,
    columns: Sequence[str],
    *,
    predicate: str,
    truncate: tuple[str, str] | None,
    known: Mapping[str, str],
) -> str:
    """The whole statement. `truncate`: position and time (as SQL) of one in this batch; `known`: column to KNOWN_AT."""
    clauses = (_soft if write.soft_column else _hard)(write, columns, known)
    if truncate is not None:
        clauses.append(_truncate(write, *truncate))
    return f"{merge_head(path, source, write.keys, predicate)} {' '.join(clauses)}"


def _hard(write: WriteCdc, columns: Sequence[str], known: Mapping[str, str]) -> list[str]:
    values = {name: f"s.{quoted(name)}" for name in columns}
    return [
        f"WHEN MATCHED AND {_GONE} > greatest({_TABLE}, {_IMAGE}) THEN DELETE",
        f"WHEN MATCHED AND {_IMAGE} > {_TABLE} THEN UPDATE SET {_assigned(write, values, known)}",
        f"WHEN NOT MATCHED AND s.{quoted(POSITION_COLUMN)} IS NOT NULL AND {_IMAGE} > {_GONE} THEN {_inserted(values)}",
    ]


def _soft(write: WriteCdc, columns: Sequence[str], known: Mapping[str, str]) -> list[str]:
    marks = _marks(write, f"{_GONE} > {_IMAGE}", f"s.{quoted(GONE_AT)}", f"s.{quoted(GONE_WHY)}", f"s.{quoted(GONE)}")
    gone = _marks(write, "TRUE", f"s.{quoted(GONE_AT)}", f"s.{quoted(GONE_WHY)}", f"s.{quoted(GONE)}")
    values = {name: marks.get(name, f"s.{quoted(name)}") for name in columns}
    newer = f"{_GONE} > {_TABLE} AND {_GONE} > coalesce(t.{quoted(DELETED_POSITION_COLUMN)}, '')"
    return [
        f"WHEN MATCHED AND {_IMAGE} > {_TABLE} THEN UPDATE SET {_assigned(write, values, known)}",
        f"WHEN MATCHED AND {newer} THEN UPDATE SET {_pairs(gone)}",
        f"WHEN NOT MATCHED AND s.{quoted(POSITION_COLUMN)} IS NOT NULL THEN {_inserted(values)}",
    ]


def _truncate(write: WriteCdc, position: str, time: str) -> str:
    """Rows that the batch does not speak of go too, unless they are newer."""
    older = f"WHEN NOT MATCHED BY SOURCE AND {_TABLE} < {position}"
    if not write.soft_column:
        return f"{older} THEN DELETE"
    marks = _marks(write, "TRUE", time, "'truncate'", position)
    return f"{older} AND coalesce(t.{quoted(DELETED_POSITION_COLUMN)}, '') < {position} THEN UPDATE SET {_pairs(marks)}"


def _marks(write: WriteCdc, deleted: str, time: str, why: str, position: str) -> dict[str, str]:
    """What the columns that tell of a delete are set to."""
    marks = {write.soft_column: deleted, DELETED_POSITION_COLUMN: position}
    if write.time_column:
        marks[write.time_column] = f"CASE WHEN {deleted} THEN {time} END"
    if write.reason_column:
        marks[write.reason_column] = f"CASE WHEN {deleted} THEN {why} END"
    return marks


def _assigned(write: WriteCdc, values: Mapping[str, str], known: Mapping[str, str]) -> str:
    """An update keeps what the table has of values that no newer event told."""
    pairs = {}
    for name, value in values.items():
        if name in known:
            newer = f"coalesce(s.{quoted(known[name])}, '') > {_TABLE}"
            pairs[name] = f"CASE WHEN {newer} THEN {value} ELSE t.{quoted(name)} END"
        elif name not in write.keys:
            pairs[name] = value
    return _pairs(pairs)


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"t.{quoted(name)} = {value}" for name, value in values.items())


def _inserted(values: Mapping[str, str]) -> str:
    names = ", ".join(quoted(name) for name in values)
    return f"INSERT ({names}) VALUES ({', '.join(values.values())})"
