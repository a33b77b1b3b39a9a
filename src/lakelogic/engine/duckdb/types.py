"""DuckDB's types as types of the plan, and back."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.duckdb.render import type_sql
from lakelogic.plan.model import HIDDEN_PREFIX, Column
from lakelogic.plan.types import is_floating

# Types that Spark has not, and the one that it would read them as.
_SPARK_READS = {
    "UTINYINT": "SMALLINT", "USMALLINT": "INTEGER", "UINTEGER": "BIGINT", "UBIGINT": "DECIMAL(20,0)",
    "HUGEINT": "DECIMAL(38,0)", "UUID": "VARCHAR", "JSON": "VARCHAR", "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP", "\"NULL\"": "VARCHAR",
}  # fmt: skip
_NANOSECONDS = {"TIMESTAMP_NS": "TIMESTAMP", "TIMESTAMPTZ_NS": "TIMESTAMPTZ"}
_WORDS = {
    exp.DataType.Type.TIMESTAMP: "timestamp_ntz",
    exp.DataType.Type.TIMESTAMPTZ: "timestamp",
    exp.DataType.Type.TEXT: "string",
    exp.DataType.Type.VARCHAR: "string",
    exp.DataType.Type.VARBINARY: "binary",
}
_FLOATING = ("FLOAT", "DOUBLE")
_UNKNOWN = ("TIME", "INTERVAL", "BIT", "VARIANT", "UNION", "GEOMETRY", "UHUGEINT")


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def keeps_type(column: Column) -> bool:
    """True where the plan does not know the type: hidden columns between stages, results it cannot tell."""
    unknown = column.type.this in {exp.DataType.Type.UNKNOWN, exp.DataType.Type.NULL}
    return unknown or column.name.startswith(HIDDEN_PREFIX)


def typed_column(column: Column) -> str:
    """A column in its declared type, under its name."""
    return quote(column.name) if keeps_type(column) else exact_column(column)


def exact_column(column: Column) -> str:
    """A column in its declared type, also where it is a hidden one."""
    name = quote(column.name)
    value = _beyond_bounds(name) if is_floating(column.type) else name
    return f"CAST({value} AS {type_sql(column.type)}) AS {name}"


def _beyond_bounds(value: str) -> str:
    """The value, hidden from what DuckDB concludes from the bounds in a file's footer: they leave NaN out."""
    return f"TRY({value})"


def null_column(column: Column) -> str:
    unknown = column.type.this in {exp.DataType.Type.UNKNOWN, exp.DataType.Type.NULL}
    return f"CAST(NULL AS {'VARCHAR' if unknown else type_sql(column.type)}) AS {quote(column.name)}"


def readable(name: str, duck_type: str) -> str:
    """A source column in a type that the plan knows."""
    if duck_type.startswith("ENUM"):
        return f"CAST({quote(name)} AS VARCHAR) AS {quote(name)}"
    if duck_type in _NANOSECONDS:
        # A cast would round, which can move a moment into the next day; Spark's casts of texts cut.
        value = f"make_timestamp(epoch_ns({quote(name)}) // 1000 - (epoch_ns({quote(name)}) % 1000 < 0)::INT)"
        return f"CAST({value} AS {_NANOSECONDS[duck_type]}) AS {quote(name)}"
    if duck_type in _FLOATING:
        return f"{_beyond_bounds(quote(name))} AS {quote(name)}"
    wanted = _SPARK_READS.get(duck_type)
    return quote(name) if wanted is None else f"CAST({quote(name)} AS {wanted}) AS {quote(name)}"


def refuse_equal_names(files: Sequence[Sequence[str]]) -> None:
    """DuckDB takes `id` and `ID` for one: in one file it gives the second another name, in two it reads them as one."""
    spelled: dict[str, str] = {}
    for names in files:
        own: set[str] = set()
        for name in names:
            if not name:
                raise CapabilityError("the DuckDB engine cannot read a column without a name", hint="give it one")
            before = spelled.setdefault(name.lower(), name)
            if before != name or name in own:
                raise CapabilityError(
                    f"for DuckDB the columns `{before}` and `{name}` of the source are one",
                    hint="rename one of them, or use engine: polars or spark",
                )
            own.add(name)


def to_column(name: str, duck_type: str) -> Column:
    if duck_type.split("(")[0].split(" ")[0] in _UNKNOWN:
        raise CapabilityError(f"column `{name}` has the type `{duck_type}`, which no table format has")
    return Column(name, _spark_type(exp.DataType.build(duck_type, dialect="duckdb")))


def to_columns(described: Sequence[tuple[str, str]]) -> tuple[Column, ...]:
    return tuple(to_column(name, duck_type) for name, duck_type in described)


def to_results(described: Sequence[tuple[str, str]]) -> tuple[Column, ...]:
    """Columns of a query, in the types that a table would have them in."""
    return to_columns([(name, _SPARK_READS.get(duck_type, duck_type)) for name, duck_type in described])


def text_columns(names: Sequence[str]) -> tuple[Column, ...]:
    return tuple(Column(name, exp.DataType.build("string", dialect="databricks")) for name in names)


def empty_relation(columns: Sequence[Column]) -> str:
    values = ", ".join(null_column(column) for column in columns)
    return f"SELECT {values} WHERE FALSE"


def _spark_type(found: exp.DataType) -> exp.DataType:
    def replace(node: exp.Expr) -> exp.Expr:
        word = _WORDS.get(node.this) if isinstance(node, exp.DataType) and not node.expressions else None
        return exp.DataType.build(word, dialect="databricks") if word else node

    # Through text, so that the tree is the one that Spark's own words give.
    return exp.DataType.build(found.transform(replace).sql("databricks"), dialect="databricks")
