"""The queries that databases are asked, in their own words."""

from __future__ import annotations

import pytest

from lakelogic.core.database_url import Kind
from lakelogic.core.slices import Bounds
from lakelogic.plan.database_sql import (
    DatabaseRelation,
    Within,
    select_limits,
    select_marks,
    select_newest,
    select_one,
    select_rows,
    split_by,
)
from lakelogic.plan.database_types import NativeColumn, read_column
from lakelogic.plan.types import named

BOUNDS = Bounds("at", "9", "8", low="7", marked=("id", "at"))


# `infinity` is no number, and so ends the query.
FINITE = 'CASE WHEN ISFINITE("c") THEN "c" ELSE CAST(CAST(CAST(CAST("c" AS TEXT) AS INT) AS TEXT)'


def relation(kind: Kind, *columns: tuple[str, str], query: str | None = None) -> DatabaseRelation:
    read = tuple(read_column(kind, NativeColumn(*column), None) for column in columns)
    return DatabaseRelation(kind, None if query else "shop.orders", query, read)


def test_only_the_wanted_columns_and_rows_are_asked_for() -> None:
    orders = relation("postgresql", ("id", "integer"), ("at", "time with time zone"), ("other", "text"))
    assert select_rows(orders, ["id", "at"], BOUNDS) == (
        'SELECT "id" AS "id", CAST("at" AS TEXT) AS "at", MD5(CAST(ROW("id", "at") AS TEXT)) AS "_lakelogic_mark", '
        'CASE WHEN "at" < \'8\' THEN 0 ELSE 1 END AS "_lakelogic_tail" FROM "shop"."orders" '
        'WHERE (("at" >= \'7\') AND ("at" <= \'9\')) OR ("at" IS NULL)'
    )
    assert select_rows(orders, ["id"], within=Within("at", "2026-01-01", "2026-01-02")) == (
        'SELECT "id" AS "id" FROM "shop"."orders" WHERE ("at" >= \'2026-01-01\') AND ("at" < \'2026-01-02\')'
    )


@pytest.mark.parametrize(
    ("kind", "table", "sql"),
    [
        ("postgresql", "Shop.Order", '"shop"."order"'),
        ("postgresql", '"Shop"."T""x.y"', '"Shop"."T""x.y"'),
        ("sqlite", "Order", '"Order"'),
        ("mysql", "shop.order", "`shop`.`order`"),
    ],
)
def test_tables_may_be_named_like_words_of_sql(kind: Kind, table: str, sql: str) -> None:
    assert select_rows(DatabaseRelation(kind, table), ["id"]).endswith(f" FROM {sql}")


def test_a_query_is_wrapped() -> None:
    some = relation("mysql", ("id", "int"), query="SELECT id FROM t WHERE x = 1")
    assert select_rows(some, ["id"]) == (
        "SELECT CAST(`id` AS SIGNED) AS `id` FROM (SELECT id FROM t WHERE x = 1) AS `source`"
    ).replace("`source`", "source")


@pytest.mark.parametrize(
    ("kind", "mark"),
    [
        ("postgresql", 'MD5(CAST(ROW("id", "at") AS TEXT))'),
        ("mysql", "MD5(CONCAT_WS(',', IFNULL(HEX(CAST(`id` AS CHAR)), '-'), IFNULL(HEX(CAST(`at` AS CHAR)), '-')))"),
        ("sqlite", """ELSE QUOTE("id") END || ',' || CASE WHEN TYPEOF("at") = 'real' THEN"""),
    ],
)
def test_marks_tell_rows_apart(kind: Kind, mark: str) -> None:
    assert mark in select_marks(relation(kind), BOUNDS)


@pytest.mark.parametrize("kind", ["postgresql", "mysql", "sqlite", "mssql"])
def test_every_question_is_sql_of_its_database(kind: Kind) -> None:
    import sqlglot

    from lakelogic.plan.database_sql import DIALECTS

    orders = relation(kind)
    questions = [select_newest(orders, "at"), select_one(orders, "at"), select_limits(orders, "id", 4)]
    for question in questions:
        assert sqlglot.parse_one(question, dialect=DIALECTS[kind])


def test_sql_server_speaks_its_dialect() -> None:
    orders = relation("mssql")
    assert select_rows(orders, ["id"]) == "SELECT [id] AS [id] FROM [shop].[orders]"
    assert select_one(orders) == "SELECT TOP 1 1 AS [one] FROM [shop].[orders]"


@pytest.mark.parametrize(
    ("native", "declared", "sql", "type_"),
    [
        ("integer", None, '"c"', "INT"),
        ("numeric(12,2)", None, '"c"', "DECIMAL(12, 2)"),
        ("numeric(12,2)", "decimal(12,2)", 'CAST("c" AS TEXT)', "STRING"),
        ("numeric", None, 'CAST("c" AS TEXT)', "STRING"),
        ("timestamp without time zone", "timestamp", 'CAST("c" AS TEXT)', "STRING"),
        ("timestamp(3) with time zone", "timestamp", "CAST(\"c\" AT TIME ZONE 'UTC' AS TEXT)", "STRING"),
        ("date", None, f"{FINITE} AS DATE) END", "DATE"),
        ("timestamp without time zone", "string", f"{FINITE} AS TIMESTAMP) END AT TIME ZONE 'UTC'", "TIMESTAMP"),
        ("uuid", "string", 'CAST("c" AS TEXT)', "STRING"),
        ("integer[]", "array<int>", 'CAST(TO_JSON("c") AS TEXT)', "STRING"),
        ("character varying(20)", "string", '"c"', "STRING"),
        ("some_domain", "string", 'CAST("c" AS TEXT)', "STRING"),
    ],
)
def test_types_of_postgresql(native: str, declared: str | None, sql: str, type_: str) -> None:
    read = read_column("postgresql", NativeColumn("c", native), named(declared) if declared else None)
    assert (read.value.sql("postgres"), read.type.sql("databricks")) == (sql, type_)


def test_parts_take_rows_without_a_value_once() -> None:
    assert split_by(relation("postgresql"), ["3", "9", "9"], numeric=True) == (
        '("_lakelogic_part" < 3) OR ("_lakelogic_part" IS NULL)',
        '("_lakelogic_part" >= 3) AND ("_lakelogic_part" < 9)',
        '("_lakelogic_part" >= 9)',
    )
