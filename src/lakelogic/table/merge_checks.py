"""What is refused of a merge, whoever carries it out, and in which words."""

from __future__ import annotations

from lakelogic.core.errors import GateError, PlanError, RunError
from lakelogic.plan.writes import WriteMerge
from lakelogic.table.protocol import TableShape

DUPLICATE_KEYS = "LL450"


def check_keys(write: WriteMerge, shape: TableShape) -> None:
    """Raise where a merge could not tell which rows belong together, or which of them wins."""
    names = {column.name for column in shape.columns}
    for key in write.keys:
        if key not in names:
            raise PlanError(f"merge key `{key}` is not a column of the batch", hint="list key columns in primary_key")
    if not write.keys:
        raise PlanError("strategy `merge` needs a primary key", hint="list the key columns under primary_key")
    if write.on_duplicate_key == "latest" and not write.order_by:
        raise PlanError(
            "`on_duplicate_key: latest` needs an order, or the winner would be random",
            hint="name a column under materialization.merge.order_by",
        )


def refuse_repeated(write: WriteMerge, repeated: int) -> None:
    if repeated:
        raise RunError(
            f"{repeated} keys of ({', '.join(write.keys)}) stand more than once in the batch",
            code=DUPLICATE_KEYS,
            hint="deduplicate them, or set materialization.merge: {order_by: [...], on_duplicate_key: latest}",
        )


def judge_missing(rows: int, missing: int, limit: float) -> None:
    """Raise where more of a table than `limit` has a key that the batch does not have."""
    if rows and missing / rows > limit:
        raise GateError(
            f"{missing} of {rows} rows are gone from the source ({missing / rows:.1%}), above {limit:.1%} "
            "(merge.max_delete_ratio)",
            gate="merge.max_delete_ratio",
            hint="check that the source is whole, or raise the limit for this run with --set",
        )
