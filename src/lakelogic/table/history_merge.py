"""The one MERGE statement that changes a history."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.plan.files import StagedFile
from lakelogic.table.history_batch import Batch
from lakelogic.table.history_layout import OP
from lakelogic.table.pruning import first_value, render_literal
from lakelogic.table.spark_staged import quoted


def render_merge(batch: Batch, changes: Sequence[StagedFile], source: str) -> str:
    """Change, remove or add versions by key and start; only files that hold such versions are rewritten."""
    write, columns = batch.layout.write, batch.layout.columns
    fixed = {*write.keys, write.valid_from, write.surrogate}
    same = [f"t.{quoted(name)} = s.{quoted(name)}" for name in (*write.keys, write.valid_from)]
    condition = " AND ".join([*_pruning(batch, changes), *same])
    update = ", ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in columns if name not in fixed)
    names = ", ".join(quoted(name) for name in columns)
    values = ", ".join(f"s.{quoted(name)}" for name in columns)
    return (
        f"MERGE INTO delta.{quoted(batch.path)} AS t USING {quoted(source)} AS s ON {condition} "
        f"WHEN MATCHED AND NOT s.{quoted(OP)} THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {update} "
        f"WHEN NOT MATCHED AND s.{quoted(OP)} THEN INSERT ({names}) VALUES ({values})"
    )


def _pruning(batch: Batch, changes: Sequence[StagedFile]) -> list[str]:
    """Conditions with literals, which hold for every version that can change: Delta skips files by them."""
    parts = [batch.concerned]
    by_name = {c.name: c for c in batch.shape.columns}
    start = by_name[batch.layout.write.valid_from]
    earliest = first_value(batch.path, changes, start)
    if earliest is not None:
        parts.append(f"t.{quoted(start.name)} >= {render_literal(earliest, start.type)}")
    return parts
