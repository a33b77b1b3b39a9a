"""Columns that stand in the paths of files: `landing/day=2026-11-01/a.csv` gives every row of the file a `day`."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.plan.expressions import case, column, function, number, text
from lakelogic.plan.model import SOURCE_COLUMN, Column
from lakelogic.plan.schema_gate import Gate
from lakelogic.plan.stage_builder import Output, keep
from lakelogic.plan.types import string_type
from lakelogic.plan.workbench import Workbench

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def read_off_paths(bench: Workbench, gate: Gate) -> None:
    """Put the columns of the paths beside those of the files, as text; one SQL for all engines."""
    if not gate.in_path:
        return
    outputs = [_from_path(c) if c.name in gate.in_path else keep(c) for c in gate.columns]
    bench.builder.project(f"read {', '.join(gate.in_path)} off the paths", outputs)


def _from_path(c: Column) -> Output:
    # The last folder of that name counts. Names are of letters, digits and underscores, so they need no escapes.
    found = exp.RegexpExtract(
        this=column(SOURCE_COLUMN), expression=text(f"^.*/{c.name}=([^/]*)/"), group=exp.Literal.number("1")
    )
    value = function("NULLIF", function("NULLIF", found, text("")), text(NULL_PARTITION))
    escaped = exp.GT(this=function("LOCATE", text("%"), value.copy()), expression=number(0))
    # Writers of such folders escape characters as %20; a plus sign stands for itself.
    plain = function("TRY_URL_DECODE", function("REPLACE", value.copy(), text("+"), text("%2B")))
    decoded = exp.Coalesce(this=plain, expressions=[value.copy()])
    return Output(Column(c.name, string_type()), case([(escaped, decoded)], value))
