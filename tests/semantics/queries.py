"""Queries over small fixed relations: what Spark gives for the author's text, what every engine gives for the plan's.

Each query is planned as a `sql:` step, as in every contract. The rows that Spark gave for the text itself stand in
`tests/data/spark_queries.txt`; `refused:` names the engines that say before they start that they cannot.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakelogic.contract import transformations as t
from lakelogic.contract.contract import Contract
from lakelogic.core.errors import CapabilityError
from lakelogic.core.keys import derive_keys
from lakelogic.engine.duckdb.failures import translated as duckdb_errors
from lakelogic.engine.duckdb.refusals import find_tree_refusals
from lakelogic.engine.duckdb.relations import open_relations as open_duckdb
from lakelogic.engine.duckdb.session import Session
from lakelogic.plan.model import Column, Segment
from lakelogic.plan.relation import Relation
from lakelogic.plan.stage_builder import StageBuilder
from lakelogic.plan.steps.queries import compile_sql
from lakelogic.plan.types import named
from lakelogic.plan.workbench import Workbench
from lakelogic.testing.rows import plain

FILE = Path(__file__).parents[1] / "data" / "spark_queries.txt"
_NAN = float("nan")
_TYPES = {
    "int": pa.int32(), "bigint": pa.int64(), "string": pa.string(), "double": pa.float64(), "boolean": pa.bool_(),
    "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(8,3)": pa.decimal128(8, 3), "array<int>": pa.list_(pa.int32()),
}  # fmt: skip


def _day(text: str) -> date:
    return date.fromisoformat(text)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "source": {
        "id": "int", "k": "string", "g": "int", "v": "int", "l": "bigint", "d": "double", "c": "decimal(10,2)",
        "b": "boolean", "dt": "date", "ts": "timestamp", "a": "array<int>",
    },
    "other": {"id": "int", "k": "string", "g": "int", "w": "int", "e": "double", "q": "decimal(8,3)"},
    "none": {"id": "int", "k": "string", "v": "int", "d": "double", "c": "decimal(10,2)"},
}  # fmt: skip
_ROWS: Mapping[str, Sequence[tuple[Any, ...]]] = {
    "source": [
        (1, "a", 1, 10, 1 << 40, 1.5, Decimal("1.10"), True, _day("2026-01-01"), _at("2026-01-01T00:00:00"), [3, 1]),
        (2, "a", 1, 20, 2, 0.0, Decimal("2.25"), False, _day("2026-01-02"), _at("2026-01-01T12:30:00"), [2]),
        (3, "b", 2, None, 3, -0.0, Decimal("-3.33"), None, None, None, []),
        (4, "b", 2, 40, None, _NAN, None, True, _day("2025-12-31"), _at("2025-06-01T00:00:00.5"), None),
        (5, None, None, 50, 5, None, Decimal("5.05"), False, _day("2026-01-01"), _at("2026-01-01T00:00:00"), [5, None]),
        (6, "B", 3, 10, 6, _NAN, Decimal("99999999.99"), True, _day("2026-03-01"), _at("2026-03-01T00:00:00"), [3, 3]),
        (7, "", None, -7, -7, -2.5, Decimal("0.00"), None, _day("2024-02-29"), _at("2024-02-29T23:59:59"), [7, 8, 9]),
        (8, "é", 3, 0, 0, 1e300, Decimal("0.05"), False, _day("2026-01-02"), None, [0]),
    ],
    "other": [
        (1, "a", 1, 100, 0.0, Decimal("1.100")),
        (2, "a", 2, 200, -0.0, Decimal("2.250")),
        (2, "b", 2, None, _NAN, None),
        (9, None, None, 900, None, Decimal("0.001")),
        (None, "B", 3, 5, 1.5, Decimal("12345.678")),
        (10, "z", None, 7, -1.0, Decimal("-1.000")),
    ],
    "none": [],
}
_CONTRACT = {"version": "1.0.0", "dataset": "queries", "source": {"path": "input.parquet"}}


@dataclass(frozen=True)
class Query:
    """An author's query, and what Spark gives for it."""

    topic: str
    sql: str
    columns: str = ""
    rows: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """The names and types of the columns, and the rows as JSON, in an order of their own."""

    columns: str
    rows: tuple[str, ...]


def read_queries(text: str | None = None) -> tuple[Query, ...]:
    """All queries of the file, in its order."""
    queries: list[Query] = []
    topic = ""
    for line in (text or FILE.read_text(encoding="utf-8")).splitlines():
        if line.startswith("## "):
            topic = line.removeprefix("## ")
        elif line.startswith("    refused: "):
            queries[-1] = replace(queries[-1], refused=tuple(line.removeprefix("    refused: ").split(", ")))
        elif line.startswith("    :: "):
            queries[-1] = replace(queries[-1], columns=line.removeprefix("    :: "))
        elif line.startswith("    "):
            queries[-1] = replace(queries[-1], rows=(*queries[-1].rows, line.strip()))
        elif line and not line.startswith("#"):
            queries.append(Query(topic, line))
    return tuple(queries)


def tables() -> dict[str, pa.Table]:
    """The relations that queries read: `source`, `other`, and `none`, which has no rows."""
    made = {}
    for name, types in _COLUMNS.items():
        values = list(zip(*_ROWS[name], strict=True)) or [()] * len(types)
        arrays = [pa.array(column, _TYPES[type_]) for column, type_ in zip(values, types.values(), strict=True)]
        made[name] = pa.table(arrays, names=list(types))
    return made


def plan(sql: str) -> tuple[Segment, ...]:
    """The segments that a `sql:` step becomes; `accepted` is the relation before it."""
    relations = {name: Relation(name, _declared(name)) for name in _COLUMNS}
    links = {name: relation for name, relation in relations.items() if name != "source"}
    bench = Workbench(Contract.model_validate(_CONTRACT), StageBuilder(relations["source"]), links)
    compile_sql(t.SqlStep(sql=sql), bench)
    return tuple(bench.builder.segments)


def _declared(name: str) -> tuple[Column, ...]:
    return tuple(Column(column, named(type_)) for column, type_ in _COLUMNS[name].items())


def compute(sql: str, engine: str, spark: Any = None) -> Found:
    """What an engine gives for the plan of a query."""
    segments = plan(sql)
    given = {**tables(), "accepted": tables()["source"]}
    match engine:
        case "duckdb":
            return told(_with_duckdb(segments, given))
        case "polars":
            return told(_with_polars(segments, given))
    return told(_with_spark(segments, spark))


def _with_duckdb(segments: Sequence[Segment], given: Mapping[str, pa.Table]) -> pa.Table:
    for refusal in (each for segment in segments for each in find_tree_refusals(segment.local_query)):
        raise CapabilityError(refusal)
    session = Session(derive_keys(None))
    with duckdb_errors("staging rows"), open_duckdb(session) as relations:
        for name, table in given.items():
            relations.add_table(name, f"SELECT * FROM {relations.register(table)}")
        for segment in segments:
            relations.add_table(segment.name, relations.aligned(relations.sql(segment.local_query), segment.columns))
        names = ", ".join(f'"{column.name}"' for column in segments[-1].columns)
        return session.query(f'SELECT {names} FROM "{segments[-1].name}"').to_arrow_table()


def _with_polars(segments: Sequence[Segment], given: Mapping[str, pa.Table]) -> pa.Table:
    import polars as pl

    from lakelogic.engine.polars.failures import translated as polars_errors
    from lakelogic.engine.polars.relations import aligned, open_relations, rows_of, settled

    with polars_errors("staging rows"), open_relations({}) as relations:
        for name, table in given.items():
            frame = pl.from_arrow(table)
            assert isinstance(frame, pl.DataFrame)
            relations.rows[name] = rows_of(frame.lazy())
        for segment in segments:
            relations.rows[segment.name] = aligned(relations.query(segment.local_query), segment.columns)
        names = [column.name for column in segments[-1].columns]
        return settled(relations.rows[segments[-1].name]).select(names).collect(engine="streaming").to_arrow()


def _with_spark(segments: Sequence[Segment], spark: Any) -> pa.Table:
    from lakelogic.engine.spark.relations import open_relations as open_spark

    with open_spark(spark) as relations:
        for name in _COLUMNS:
            relations.add("accepted" if name == "source" else name, spark.table(name))
        relations.add("source", spark.table("source"))
        for segment in segments:
            relations.add(segment.name, relations.query(segment.query))
        names = [column.name for column in segments[-1].columns]
        return spark.table(relations.names[segments[-1].name]).select(*[f"`{name}`" for name in names]).toArrow()


def ask_spark(sql: str, spark: Any) -> Found:
    """What Spark gives for the author's own text."""
    return told(spark.sql(sql).toArrow())


@contextmanager
def views(spark: Any) -> Iterator[None]:
    """The relations as views of a session that others use too."""
    try:
        for name, table in tables().items():
            spark.createDataFrame(table).createOrReplaceTempView(name)
        yield
    finally:
        for name in tables():
            spark.catalog.dropTempView(name)


def told(table: pa.Table) -> Found:
    columns = ", ".join(f"{field.name} {_word(field.type)}" for field in table.schema)
    names = table.column_names
    rows = [[plain(value) for value in row.values()] for row in table.rename_columns(_numbered(names)).to_pylist()]
    return Found(columns, tuple(sorted(json.dumps(row, ensure_ascii=False) for row in rows)))


def _numbered(names: Sequence[str]) -> list[str]:
    return [f"c{number}" for number, _ in enumerate(names)]


def _word(type_: pa.DataType) -> str:
    """Arrow's word for a type, the same for all ways to lay it out."""
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"list<{_word(type_.value_type)}>"
    if pa.types.is_struct(type_):
        return f"struct<{', '.join(f'{field.name}: {_word(field.type)}' for field in type_)}>"
    return {"large_string": "string", "string_view": "string", "large_binary": "binary"}.get(str(type_), str(type_))


def render(queries: Sequence[Query]) -> Iterator[str]:
    """The lines of the file."""
    yield "# Queries over the relations of tests/semantics/queries.py and what Spark 4.2 gave (ANSI mode, UTC)."
    topic = ""
    for query in queries:
        if query.topic != topic:
            topic = query.topic
            yield f"\n## {topic}"
        yield query.sql
        yield f"    :: {query.columns}"
        yield from (f"    {row}" for row in query.rows)
        if query.refused:
            yield f"    refused: {', '.join(query.refused)}"
