"""What an edit of a contract does to its table: the right statement, or a refusal that says why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakelogic.plan.ddl import diff_table
from lakelogic.plan.ddl_sql import in_order, render_change
from lakelogic.plan.model import Column
from lakelogic.plan.table_facts import KEY_PROPERTY, TableFacts
from lakelogic.plan.types import named

TABLE = "delta.`/lake/orders`"


def column(name: str, type_: str, **more: object) -> Column:
    return Column(name, named(type_), **more)  # type: ignore[arg-type]


THERE = TableFacts(
    (
        column("id", "bigint", nullable=False, comment="Order."),
        column("amount", "decimal(10, 2)"),
        column("count", "int"),
        column("email", "string", masking="hash"),
        column("place", "struct<`city`: string, `zip`: string>"),
        column("lines", "array<struct<`sku`: string>>"),
        column("day", "date"),
        column("_lakelogic_run_id", "string"),
    ),
    partition_by=("day",),
    properties={"delta.appendOnly": "false", KEY_PROPERTY: "id"},
    description="Orders.",
    rows=3,
    nulls={"id": 0, "amount": 0, "count": 2, "day": 0},
)


def edited(name: str, **change: object) -> TableFacts:
    columns = tuple(replace(c, **change) if c.name == name else c for c in THERE.columns)  # type: ignore[arg-type]
    return replace(THERE, columns=columns)


def added(*columns: Column) -> TableFacts:
    return replace(THERE, columns=(*THERE.columns, *columns))


def without(name: str, *columns: Column) -> TableFacts:
    return replace(THERE, columns=(*(c for c in THERE.columns if c.name != name), *columns))


STATEMENTS = {
    "a new column": (
        added(column("note", "string", comment="Free text, it's the buyer's.")),
        f"ALTER TABLE {TABLE} ADD COLUMNS (`note` STRING COMMENT 'Free text, it\\'s the buyer\\'s.')",
    ),
    "a new nested field": (
        edited("place", type=named("struct<`city`: string, `zip`: string, `country`: string>")),
        f"ALTER TABLE {TABLE} ADD COLUMNS (`place`.`country` STRING)",
    ),
    "a new nested field in the middle": (
        edited("place", type=named("struct<`city`: string, `street`: string, `zip`: string>")),
        f"ALTER TABLE {TABLE} ADD COLUMNS (`place`.`street` STRING AFTER `city`)",
    ),
    "a new field in an array": (
        edited("lines", type=named("array<struct<`sku`: string, `qty`: int>>")),
        f"ALTER TABLE {TABLE} ADD COLUMNS (`lines`.`element`.`qty` INT)",
    ),
    "another comment": (
        edited("id", comment="Number of the order."),
        f"ALTER TABLE {TABLE} ALTER COLUMN `id` COMMENT 'Number of the order.'",
    ),
    "no comment": (edited("id", comment=None), f"ALTER TABLE {TABLE} ALTER COLUMN `id` COMMENT ''"),
    "another description": (
        replace(THERE, description="All orders."),
        f"COMMENT ON TABLE {TABLE} IS 'All orders.'",
    ),
    "a column that may be NULL": (
        edited("id", nullable=True),
        f"ALTER TABLE {TABLE} ALTER COLUMN `id` DROP NOT NULL",
    ),
    "another property": (
        replace(THERE, properties={"delta.appendOnly": "true"}),
        f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('delta.appendOnly' = 'true')",
    ),
    "a key of more columns": (
        replace(THERE, properties={KEY_PROPERTY: "id,day"}),
        f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('{KEY_PROPERTY}' = 'id,day')",
    ),
}

REFUSALS = {
    "a removed column": (without("amount"), "LL340", "`amount` is in the table and not in the contract"),
    "a removed nested field": (edited("place", type=named("struct<`city`: string>")), "LL340", "place.zip"),
    "a narrower type": (edited("id", type=named("int")), "LL341", "is long in the table, int in the contract"),
    "another type": (edited("day", type=named("string")), "LL341", "is date in the table, string in the contract"),
    "fewer digits": (edited("amount", type=named("decimal(8, 2)")), "LL341", "decimal(10,2)"),
    "a partition column": (replace(THERE, partition_by=("day", "count")), "LL342", "partitioned by `day`"),
    "required with NULLs": (edited("count", nullable=False), "LL343", "2 rows of the table have NULL"),
    "required, not counted": (edited("email", nullable=False), "LL343", "an unknown number of rows"),
    "a rename": (without("amount", column("Amount_", "decimal(10, 2)")), "LL344", "it looks like a rename"),
    "other masking": (edited("email", masking=None), "LL345", "masked by `hash`, new ones would be in the clear"),
    "a type nobody knows": (added(column("x", "unknown")), "LL346", "known only when rows are read"),
    "a wider type": (edited("count", type=named("bigint")), "LL347", "only with type widening"),
    "another key": (replace(THERE, properties={KEY_PROPERTY: "day"}), "LL348", "merged by (id)"),
}


@pytest.mark.parametrize("edit", STATEMENTS)
def test_an_edit_that_loses_nothing_is_one_statement(edit: str) -> None:
    wanted, sql = STATEMENTS[edit]
    found = diff_table(THERE, wanted, keyed=True)
    assert [render_change(change, TABLE) for change in found.changes] == [sql]
    assert found.refused == ()


@pytest.mark.parametrize("edit", REFUSALS)
def test_an_edit_that_would_lose_data_is_refused(edit: str) -> None:
    wanted, code, words = REFUSALS[edit]
    found = diff_table(THERE, wanted, keyed=True)
    assert found.changes == ()
    assert [refused.code for refused in found.refused] == [code]
    assert words in found.refused[0].message
    assert found.refused[0].hint


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tinyint", "smallint"), ("int", "bigint"), ("int", "double"), ("float", "double"), ("int", "decimal(12, 2)"),
        ("decimal(10, 2)", "decimal(12, 2)"), ("decimal(10, 2)", "decimal(13, 4)"), ("date", "timestamp_ntz"),
    ],
)  # fmt: skip
def test_wider_types_need_the_feature_that_the_contract_turned_on(before: str, after: str) -> None:
    there = TableFacts((column("v", before),), rows=1)
    on = {"delta.enableTypeWidening": "true"}
    found = diff_table(there, TableFacts((column("v", after),), properties=on))
    assert [render_change(change, TABLE) for change in in_order(found.changes)] == [
        f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
        f"ALTER TABLE {TABLE} ALTER COLUMN `v` TYPE {named(after).sql('databricks')}",
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [("bigint", "double"), ("bigint", "decimal(12, 0)"), ("decimal(10, 2)", "decimal(10, 4)"), ("int", "string"),
     ("double", "float"), ("timestamp", "timestamp_ntz")],
)  # fmt: skip
def test_types_that_do_not_take_every_value_are_refused(before: str, after: str) -> None:
    there = TableFacts((column("v", before),), rows=1)
    on = {"delta.enableTypeWidening": "true"}
    assert [r.code for r in diff_table(there, TableFacts((column("v", after),), properties=on)).refused] == ["LL341"]


def test_no_difference_is_no_statement() -> None:
    found = diff_table(THERE, THERE, keyed=True)
    assert (found.changes, found.refused, found.notes) == ((), (), ())


def test_a_table_that_is_not_there_is_created() -> None:
    wanted = replace(THERE, columns=(*THERE.columns[:2], THERE.columns[6]), properties={"delta.appendOnly": "true"})
    (change,) = diff_table(None, wanted).changes
    assert render_change(change, TABLE) == (
        f"CREATE TABLE IF NOT EXISTS {TABLE} (\n"
        "  `id` BIGINT NOT NULL COMMENT 'Order.',\n"
        "  `amount` DECIMAL(10, 2),\n"
        "  `day` DATE\n"
        ")\n"
        "USING DELTA\n"
        "PARTITIONED BY (`day`)\n"
        "COMMENT 'Orders.'\n"
        "TBLPROPERTIES ('delta.appendOnly' = 'true')"
    )


def test_what_is_required_now_and_has_no_null_is_let_be() -> None:
    found = diff_table(THERE, edited("amount", nullable=False), keyed=True)
    assert (found.changes, found.refused) == ((), ())
    assert "stays nullable" in found.notes[0]


def test_an_open_contract_lets_columns_be() -> None:
    found = diff_table(THERE, without("amount"), closed=False)
    assert (found.changes, found.refused) == ((), ())
    assert found.notes == ("`amount` is in the table only; the contract lets it be",)


def test_lineage_that_the_contract_no_longer_takes_is_let_be() -> None:
    assert diff_table(THERE, without("_lakelogic_run_id")).refused == ()


@pytest.mark.parametrize(
    "edit", [name for name in REFUSALS if name not in ("required, not counted", "a type nobody knows")]
)
def test_a_table_without_rows_takes_any_shape(edit: str) -> None:
    wanted, _, _ = REFUSALS[edit]
    empty = replace(THERE, rows=0, nulls={})
    found = diff_table(empty, wanted, keyed=True)
    assert found.refused == ()
    if edit == "required with NULLs":
        assert found.changes == ()
    else:
        (change,) = found.changes
        assert render_change(change, TABLE).startswith("CREATE OR REPLACE TABLE")
