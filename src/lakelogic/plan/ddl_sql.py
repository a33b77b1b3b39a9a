"""Changes of a table as Spark SQL."""

from __future__ import annotations

from typing import assert_never

from sqlglot import exp

from lakelogic.plan.ddl import (
    WIDENING,
    AddColumn,
    Change,
    CreateTable,
    DropNotNull,
    SetComment,
    SetDescription,
    SetProperty,
    WidenType,
)
from lakelogic.plan.model import Column
from lakelogic.plan.table_facts import TableFacts


def render_change(change: Change, table: str) -> str:
    """One statement; `table` is quoted already, a name or delta.`path`."""
    match change:
        case CreateTable():
            return _create(change.facts, table, instead=change.instead)
        case AddColumn():
            return f"ALTER TABLE {table} ADD COLUMNS ({_new_column(change)})"
        case SetComment():
            return f"ALTER TABLE {table} ALTER COLUMN {quote(change.column)} COMMENT {literal(change.comment or '')}"
        case DropNotNull():
            return f"ALTER TABLE {table} ALTER COLUMN {quote(change.column)} DROP NOT NULL"
        case WidenType():
            return f"ALTER TABLE {table} ALTER COLUMN {_path(change.path)} TYPE {_type(change.type)}"
        case SetProperty():
            return f"ALTER TABLE {table} SET TBLPROPERTIES ({literal(change.key)} = {literal(change.value)})"
        case SetDescription():
            return f"COMMENT ON TABLE {table} IS {literal(change.text or '')}"
        case _:
            assert_never(change)


def in_order(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Type widening has to be on before a type is widened."""
    return tuple(sorted(changes, key=lambda change: not (isinstance(change, SetProperty) and change.key == WIDENING)))


def quote(name: str) -> str:
    """A name as Spark SQL takes it whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def quote_dotted(name: str) -> str:
    return ".".join(quote(part) for part in name.split("."))


def literal(text: str) -> str:
    """A text as Spark SQL reads it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def _create(facts: TableFacts, table: str, *, instead: bool) -> str:
    head = "CREATE OR REPLACE TABLE" if instead else "CREATE TABLE IF NOT EXISTS"
    columns = ",\n  ".join(_column(column) for column in facts.columns)
    lines = [f"{head} {table} (\n  {columns}\n)", "USING DELTA"]
    if facts.partition_by:
        lines.append(f"PARTITIONED BY ({', '.join(quote(name) for name in facts.partition_by)})")
    if facts.description:
        lines.append(f"COMMENT {literal(facts.description)}")
    if facts.properties:
        pairs = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in facts.properties.items())
        lines.append(f"TBLPROPERTIES ({pairs})")
    return "\n".join(lines)


def _column(column: Column) -> str:
    constraint = "" if column.nullable else " NOT NULL"
    comment = f" COMMENT {literal(column.comment)}" if column.comment else ""
    return f"{quote(column.name)} {_type(column.type)}{constraint}{comment}"


def _new_column(change: AddColumn) -> str:
    comment = f" COMMENT {literal(change.comment)}" if change.comment else ""
    place = " FIRST" if change.first else f" AFTER {quote(change.after)}" if change.after else ""
    return f"{_path(change.path)} {_type(change.type)}{comment}{place}"


def _path(path: tuple[str, ...]) -> str:
    return ".".join(quote(part) for part in path)


def _type(type_: exp.DataType) -> str:
    return type_.sql("databricks")
