"""Arrow types of what a database is asked for, for drivers that hand over Python values."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from lakelogic.plan.database_types import ReadColumn

_TYPES = {
    exp.DataType.Type.SMALLINT: pa.int16(), exp.DataType.Type.INT: pa.int32(), exp.DataType.Type.BIGINT: pa.int64(),
    exp.DataType.Type.FLOAT: pa.float32(), exp.DataType.Type.DOUBLE: pa.float64(),
    exp.DataType.Type.BOOLEAN: pa.bool_(), exp.DataType.Type.DATE: pa.date32(), exp.DataType.Type.BINARY: pa.binary(),
}  # fmt: skip


def arrow_schema(columns: Sequence[ReadColumn]) -> pa.Schema:
    return pa.schema([pa.field(column.name, _arrow_type(column.type)) for column in columns])


def _arrow_type(type_: exp.DataType) -> pa.DataType:
    if type_.this == exp.DataType.Type.DECIMAL:
        precision, scale = (int(part.name) for part in type_.expressions)
        return pa.decimal128(precision, scale)
    return _TYPES.get(type_.this, pa.string())
