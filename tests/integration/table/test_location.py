"""Where tables, quarantines and control folders lie."""

from __future__ import annotations

import pytest

from lakelogic.core.errors import PlanError
from lakelogic.table.location import control_folder, resolve_location, resolve_quarantine, state_folder
from lakelogic.table.protocol import TableLocation


def locate(name: str, catalogs: tuple[str, ...] = ()) -> TableLocation:
    return resolve_location(name, base="/project", warehouse="lakehouse", catalogs=catalogs)


@pytest.mark.parametrize(
    ("name", "path", "catalog_name"),
    [
        ("lake/silver/customers", "/project/lake/silver/customers", None),
        ("./a/../b/", "/project/b", None),
        ("/abs/t", "/abs/t", None),
        ("file:///abs/t", "/abs/t", None),
        ("s3://bucket/t/", "s3://bucket/t", None),
        ("customers", "/project/customers", None),
        ("out.parquet", "/project/out.parquet", None),
        ("main.silver.customers", "/project/lakehouse/main/silver/customers", None),
        ("silver.customers", "/project/lakehouse/silver/customers", "spark_catalog.silver.customers"),
        ("table:unity.silver.c", "/project/lakehouse/unity/silver/c", "unity.silver.c"),
    ],
)
def test_a_table_is_a_path_or_a_dotted_name(name: str, path: str, catalog_name: str | None) -> None:
    found = locate(name, ("spark_catalog", "unity"))
    assert (found.path, found.catalog_name) == (path, catalog_name)


def test_the_quarantine_lies_beside_its_target() -> None:
    def quarantine(name: str, declared: str | None = None) -> TableLocation:
        return resolve_quarantine(locate(name), declared, base="/project", warehouse="lakehouse")

    assert quarantine("lake/customers/").path == "/project/lake/customers_quarantine"
    assert quarantine("a.b.c") == TableLocation("a.quarantine.b_c", "/project/lakehouse/a/quarantine/b_c")
    assert quarantine("b.c").name == "quarantine.b_c"
    assert quarantine("lake/customers", "bad/rows").path == "/project/bad/rows"


def test_control_tables_lie_beside_the_target_or_where_the_setting_says() -> None:
    target = locate("lake/customers")
    assert state_folder(target) == "/project/lake/_lakelogic"
    assert control_folder(target, "silver_customers") == "/project/lake/_lakelogic/silver_customers"
    assert control_folder(target, "x", state="/state") == "/state/_lakelogic/x"
    assert control_folder(target, "../../etc") == "/project/lake/_lakelogic/_.._etc"


def test_no_path_is_an_error() -> None:
    with pytest.raises(PlanError, match="no path"):
        locate(" ")
