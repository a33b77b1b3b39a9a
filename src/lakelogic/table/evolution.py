"""How a table may change for a batch: what the contract's policy allows, and what the run tells of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deltalake import DeltaTable

from lakelogic.core.errors import CapabilityError, PlanError
from lakelogic.core.events import Event
from lakelogic.plan.types import type_name
from lakelogic.plan.writes import Write, WriteAppend, WriteOverwrite, WriteOverwritePartitions, WriteReplace
from lakelogic.table.delta_schema import Evolution, plan_evolution, refuse_equal_names
from lakelogic.table.obstacles import adoption_obstacle, refuse_append_only
from lakelogic.table.protocol import EvolutionPolicy, TableShape

# Other writes add columns of their own to the table; these leave it with the columns of the batch.
_WHOLE_ROWS = (WriteAppend, WriteOverwrite, WriteOverwritePartitions, WriteReplace)


def check_evolution(
    table: DeltaTable | None, write: Write, shape: TableShape, policy: EvolutionPolicy
) -> tuple[Event, ...]:
    """Raise PlanError where a table cannot take a batch or must not change for it; else say what will change."""
    refuse_equal_names(shape.columns)
    if table is None:
        return ()
    evolution = plan_evolution(table, shape)
    absent = _absent(table, shape) if isinstance(write, _WHOLE_ROWS) else ()
    refusal = _refusal(evolution, absent, policy)
    if refusal is not None:
        raise PlanError(
            f"{refusal}, and schema_policy.evolution is {policy}",
            code="LL333",
            hint="change the table by `lakelogic ddl`, or set schema_policy.evolution to allow",
        )
    if evolution.widened:
        # The rows that are there have to be written again.
        refuse_append_only(table, WriteOverwrite())
        _refuse_feature(table, evolution.widened[0])
    return tuple(_events(table, shape, evolution, absent))


def _refuse_feature(table: DeltaTable, name: str) -> None:
    obstacle = adoption_obstacle(table, overwrite=True)
    if obstacle and table.metadata().configuration.get("delta.enableTypeWidening", "false").lower() != "true":
        raise CapabilityError(
            f"column `{name}` would have to be widened, and the table has {obstacle}",
            code="LL313",
            hint="alter the column with Spark SQL, or turn on delta.enableTypeWidening and run on Spark",
        )


def _absent(table: DeltaTable, shape: TableShape) -> tuple[str, ...]:
    given = {column.name for column in shape.columns}
    return tuple(field.name for field in table.schema().fields if field.name not in given)


def _refusal(evolution: Evolution, absent: Sequence[str], policy: EvolutionPolicy) -> str | None:
    new = [column for column in evolution.new_columns if policy == "strict" or not column.nullable]
    if policy == "allow":
        return None
    if new:
        return f"the table has no column `{new[0].name}`" + ("" if policy == "strict" else ", which is required")
    if absent:
        return f"the batch has no column `{absent[0]}`"
    if evolution.widened and policy == "strict":
        return f"column `{evolution.widened[0]}` has a wider type than in the table"
    return None


def _events(table: DeltaTable, shape: TableShape, evolution: Evolution, absent: Sequence[str]) -> Iterator[Event]:
    types = {column.name: type_name(column.type) for column in shape.columns}
    for column in evolution.new_columns:
        yield Event(
            "new_column",
            f"Column `{column.name}` is new in the target; rows that are there have NULL in it",
            "info",
            {"column": column.name, "type": types[column.name]},
        )
    for name in evolution.widened:
        yield Event(
            "widened_column",
            f"Column `{name}` of the target becomes {types[name]}; its rows are written again",
            "warning",
            {"column": name, "type": types[name]},
        )
    for name in absent:
        yield Event(
            "absent_column",
            f"The target has a column `{name}` that the batch does not have; it is NULL in the new rows",
            "warning",
            {"column": name},
        )
