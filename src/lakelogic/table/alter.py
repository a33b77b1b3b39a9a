"""Changes of a table carried out: through delta-rs where it can, through Spark where it must."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from deltalake import DeltaTable, Field
from deltalake.exceptions import DeltaError
from deltalake.schema import ArrayType, MapType, StructType

from lakelogic.core.errors import RunError
from lakelogic.plan.ddl import AddColumn, Change, CreateTable, DropNotNull, SetComment, SetDescription, SetProperty
from lakelogic.plan.ddl_sql import render_change
from lakelogic.plan.table_facts import TableFacts
from lakelogic.storage.files import make_folder
from lakelogic.storage.resolver import store_options
from lakelogic.table.adopt import create_empty, find_table
from lakelogic.table.delta_schema import MASKING_KEY, delta_schema, delta_type
from lakelogic.table.facts import shape_of
from lakelogic.table.obstacles import adoption_obstacle, property_obstacle
from lakelogic.table.protocol import TableLocation
from lakelogic.table.spark_staged import quoted, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Properties that turn on a feature of the table's protocol.
_FEATURES = ("delta.enable", "delta.feature.", "delta.columnMapping.", "delta.constraints.", "delta.min")


def needs_spark(change: Change, path: str) -> bool:
    """Whether only Spark knows how to make a change."""
    table = find_table(path)
    if table is not None and adoption_obstacle(table) is not None:
        return True
    match change:
        case CreateTable(facts=facts):
            return property_obstacle(facts.properties) is not None
        case AddColumn(after=after, first=first):
            return first or after is not None
        case SetProperty(key=key):
            return key.startswith(_FEATURES)
        case SetComment() | DropNotNull() | SetDescription():
            return False
        case _:
            return True


def apply_change(change: Change, location: TableLocation, open_spark: Callable[[], SparkSession] | None) -> None:
    """Make one change, as one commit."""
    if not needs_spark(change, location.path):
        _alter(change, location.path)
        return
    assert open_spark is not None, "the caller asks `needs_spark` first"
    spark = open_spark()
    make_folder(location.path)
    with spark_errors(f"the change of `{location.name}`"):
        spark.sql(render_change(change, f"delta.{quoted(location.path)}"))


def _alter(change: Change, path: str) -> None:
    if isinstance(change, CreateTable):
        _create(change, path)
        return
    table = find_table(path)
    assert table is not None
    try:
        _alter_table(table, change)
    except DeltaError as error:
        raise RunError(f"the table `{path}` could not be changed: {error}", code="LL441") from error


def _alter_table(table: DeltaTable, change: Change) -> None:
    match change:
        case AddColumn():
            table.alter.add_columns(_nested_field(change, table))
        case SetComment(column=column, comment=comment):
            table.alter.set_column_metadata(column, {"comment": comment or ""})
        case DropNotNull(column=column):
            table.alter.drop_column_not_null(column)
        case SetProperty(key=key, value=value):
            table.alter.set_table_properties({key: value}, raise_if_not_exists=False)
        case SetDescription(text=text):
            table.alter.set_table_description(text or "")
        case _:
            raise AssertionError(f"{type(change).__name__} is a change for Spark")


def _create(change: CreateTable, path: str) -> None:
    if change.instead:
        _replace(change.facts, path)
    else:
        create_empty(path, shape_of(change.facts))


def _replace(facts: TableFacts, path: str) -> None:
    """A new shape for a table without rows, in one commit; its older versions and its batches stay known."""
    try:
        DeltaTable.create(
            path,
            delta_schema(facts.columns),
            mode="overwrite",
            partition_by=list(facts.partition_by),
            description=facts.description,
            configuration=dict(facts.properties),
            raise_if_key_not_exists=False,
            storage_options=store_options(path),
        )
    except DeltaError as error:
        raise RunError(f"the table `{path}` could not be changed: {error}", code="LL441") from error


def _nested_field(change: AddColumn, table: DeltaTable) -> Field:
    """The field to add, inside copies of the structs, arrays and maps that hold it."""
    metadata = {"comment": change.comment, MASKING_KEY: change.masking}
    new = Field(
        change.path[-1], delta_type(change.type), nullable=True, metadata={k: v for k, v in metadata.items() if v}
    )
    if len(change.path) == 1:
        return new
    top = next(field for field in table.schema().fields if field.name == change.path[0])
    return Field(top.name, _around(top.type, change.path[1:-1], new), nullable=top.nullable)


def _around(type_: Any, path: tuple[str, ...], new: Field) -> Any:
    if isinstance(type_, ArrayType):
        return ArrayType(_around(type_.element_type, path[1:], new), contains_null=type_.contains_null)
    if isinstance(type_, MapType):
        key = path[0] == "key"
        before, after = type_.key_type, type_.value_type
        return MapType(
            _around(before, path[1:], new) if key else before,
            after if key else _around(after, path[1:], new),
            value_contains_null=type_.value_contains_null,
        )
    if not path:
        return StructType([new])
    inner = next(field for field in type_.fields if field.name == path[0])
    return StructType([Field(inner.name, _around(inner.type, path[1:], new), nullable=inner.nullable)])
