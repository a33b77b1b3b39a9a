"""What of a history only Spark does: values whose order, or whose text, other engines would not give alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from lakelogic.plan.model import Column
from lakelogic.plan.types import family, is_decimal, is_whole, type_name
from lakelogic.plan.writes import WriteScd2

_UNORDERED = {exp.DataType.Type.ARRAY, exp.DataType.Type.LIST, exp.DataType.Type.MAP, exp.DataType.Type.VARIANT}
_PLAIN_SCALE = 6  # Java writes smaller fractions with an exponent


def find_history_limits(write: WriteScd2, columns: Sequence[Column]) -> Iterator[str]:
    """What keeps this history from being computed without Spark, in words."""
    compared = {*write.keys, *write.tracked, *write.untracked} - set(write.opaque)
    for column in columns:
        kinds = {node.this for node in column.type.find_all(exp.DataType)}
        if column.name in compared and kinds & _UNORDERED:
            yield f"keep a history (scd2) of `{column.name}`, a column of type {type_name(column.type)}"
        elif write.surrogate and column.name in write.keys and not _has_text(column.type):
            yield f"make the surrogate key of a history (scd2) of `{column.name}`, which is {type_name(column.type)}"


def _has_text(type_: exp.DataType) -> bool:
    """Whether the text of such a value, which a surrogate key is a hash of, is known to the last byte."""
    if is_decimal(type_):
        return int(type_.expressions[1].this.name if len(type_.expressions) > 1 else 0) <= _PLAIN_SCALE
    return is_whole(type_) or family(type_) in {"text", "boolean", "date", "timestamp", "unknown"}
