"""Lineage: the columns that say where a row came from, when, and by which contract."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.contract.lineage import Lineage
from lakelogic.plan.expressions import cast, column, placeholder, text
from lakelogic.plan.model import HIDDEN_PREFIX, SOURCE_COLUMN, Column
from lakelogic.plan.stage_builder import Output
from lakelogic.plan.types import named, string_type

UPSTREAM_PREFIX = "_lakelogic_up_"  # hidden while the steps run; `_upstream...` in the target

RUN_ID, PROCESSED_AT, VERSION = "_lakelogic_run_id", "_lakelogic_processed_at", "_lakelogic_contract_version"


def upstream_hidden(name: str) -> str:
    return UPSTREAM_PREFIX + name.removeprefix(HIDDEN_PREFIX).removeprefix("_")


def upstream_output(hidden: str, *, many: bool = False) -> str:
    return "_upstream_" + hidden.removeprefix(UPSTREAM_PREFIX) + ("s" if many else "")


def lineage_outputs(lineage: Lineage, version: str, hidden: tuple[str, ...]) -> list[Output]:
    """The lineage columns of the target, under the names that the contract gives them."""
    if not lineage.enabled:
        return []
    timestamp = named("timestamp")
    outputs = []
    if lineage.capture_run_id:
        outputs.append(Output(Column(RUN_ID, string_type()), placeholder("run_id")))
    if lineage.capture_source_path:
        known = SOURCE_COLUMN in hidden
        value = column(SOURCE_COLUMN) if known else cast(exp.null(), string_type())
        outputs.append(Output(Column(SOURCE_COLUMN, string_type()), value))
    if lineage.capture_processed_at:
        outputs.append(Output(Column(PROCESSED_AT, timestamp), cast(placeholder("processed_at"), timestamp)))
    outputs.append(Output(Column(VERSION, string_type()), text(version)))
    for name in hidden:
        if name.startswith(UPSTREAM_PREFIX):
            outputs.append(Output(Column(upstream_output(name), string_type()), column(name)))
    return [_renamed(output, lineage) for output in outputs]


def _renamed(output: Output, lineage: Lineage) -> Output:
    name = lineage.columns.get(output.column.name, output.column.name)
    return Output(Column(name, output.column.type, comment=output.column.comment), output.expression)
