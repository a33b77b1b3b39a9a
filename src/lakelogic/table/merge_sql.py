"""The text of an upsert's MERGE statement; `t` is the table, `s` the batch."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.plan.model import DELETE_COLUMN, HIDDEN_PREFIX, Column
from lakelogic.plan.ordering import parse_term
from lakelogic.plan.types import family
from lakelogic.plan.writes import WriteMerge
from lakelogic.table.pruning import EVERYTHING
from lakelogic.table.spark_staged import quoted


def render_merge(
    path: str, source: str, write: WriteMerge, columns: Sequence[str], *, predicate: str = EVERYTHING
) -> str:
    """The whole statement. Keys are never NULL here, so `=` is right and lets Delta skip files."""
    clauses = [*_matched(write, columns), _insert(write, columns)]
    if write.delete_missing:
        clauses.append("WHEN NOT MATCHED BY SOURCE THEN DELETE")
    return f"{merge_head(path, source, write.keys, predicate)} {' '.join(clauses)}"


def merge_head(path: str, source: str, keys: Sequence[str], predicate: str) -> str:
    """The statement up to its first clause; `predicate` narrows the table to where keys of the batch can be."""
    condition = " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in keys)
    narrowed = condition if predicate == EVERYTHING else f"{condition} AND {predicate}"
    return f"MERGE INTO delta.{quoted(path)} AS t USING {quoted(source)} AS s ON {narrowed}"


def _matched(write: WriteMerge, columns: Sequence[str]) -> list[str]:
    if write.insert_only:
        return []
    newer = is_newer(write.order_by)
    clauses = []
    if write.deletes:
        going = [f"s.{quoted(DELETE_COLUMN)}", *([newer] if newer else [])]
        clauses.append(f"WHEN MATCHED AND {' AND '.join(going)} THEN DELETE")
    changed = updated_columns(write, columns)
    # A table of keys only has nothing to update; an empty SET would be an error.
    if changed:
        assignments = ", ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in changed)
        clauses.append(f"WHEN MATCHED{f' AND {newer}' if newer else ''} THEN UPDATE SET {assignments}")
    return clauses


def updated_columns(write: WriteMerge, columns: Sequence[str]) -> list[str]:
    """What an update sets: all but the key, or those asked for with the order and lineage that tell of the update."""
    free = [name for name in columns if name not in write.keys]
    if not write.update_columns:
        return free
    order = {parse_term(term)[0] for term in write.order_by}
    return [name for name in free if name in {*write.update_columns, *order} or name.startswith(HIDDEN_PREFIX)]


def _insert(write: WriteMerge, columns: Sequence[str]) -> str:
    names = ", ".join(quoted(name) for name in columns)
    values = ", ".join(f"s.{quoted(name)}" for name in columns)
    only = f" AND NOT s.{quoted(DELETE_COLUMN)}" if write.deletes else ""
    return f"WHEN NOT MATCHED{only} THEN INSERT ({names}) VALUES ({values})"


def is_newer(order_by: Sequence[str]) -> str | None:
    """True where the batch's row is not older than the table's, column by column; NULL is older than any value.

    Equal order is for the batch: a correction under the same time stamp must get in.
    """
    condition = "TRUE"
    for term in reversed(order_by):
        name, sign = order_term(term)
        batch, table = f"s.{quoted(name)}", f"t.{quoted(name)}"
        ahead = f"{batch} {sign} {table} OR ({batch} IS NOT NULL AND {table} IS NULL)"
        condition = f"({ahead} OR ({batch} <=> {table} AND {condition}))"
    return condition if order_by else None


def order_term(term: str) -> tuple[str, str]:
    """The column, and the sign between a newer value and an older one; without a direction the greatest is newest."""
    return parse_term(term)[0], "<" if term.strip().lower().endswith(" asc") else ">"


def latest_order(write: WriteMerge, columns: Sequence[Column]) -> list[tuple[str, bool]]:
    """Columns by which the winner among rows of one key stands first, and whether the greatest does.

    Equal rows by the author's order are told apart by all other columns that have an order.
    """
    order = [(name, sign == ">") for name, sign in map(order_term, write.order_by)]
    taken = {name for name, _ in order} | set(write.keys)
    ties = [c.name for c in columns if c.name not in taken and family(c.type) not in {"complex", "unknown", "binary"}]
    return [*order, *[(name, True) for name in ties]]
