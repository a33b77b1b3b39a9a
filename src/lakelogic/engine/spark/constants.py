"""Columns of a stage that have one value in every row of a batch: lineage, mostly.

Parquet compares each value of a column with the bounds so far, and long equal texts cost most. For these columns the
writer keeps no statistics; their bounds are known without.
"""

from __future__ import annotations

import re

from sqlglot import exp

from lakelogic.core.slices import FileSlice, TableSlice
from lakelogic.engine.protocol import StageInput
from lakelogic.plan.model import SOURCE_COLUMN, Stage

# Parquet reads a column's option by its dotted path.
_PLAIN_NAME = re.compile(r"\w+", re.ASCII)


def find_constants(stage: Stage, source: StageInput) -> dict[str, str]:
    """Output columns with one value known before the run, and that value as text."""
    query = stage.segments[-1].query
    outputs = {column.name for column in stage.output} - set(stage.partition_by)
    found = {}
    for node in query.selects if isinstance(query, exp.Select) else []:
        value = _value(node.unalias(), stage, source)
        if value is not None and node.alias in outputs and _PLAIN_NAME.fullmatch(node.alias):
            found[node.alias] = value
    return found


def statistics_off(constants: dict[str, str]) -> dict[str, str]:
    """Options of the Parquet writer."""
    return {f"parquet.column.statistics.enabled#{name}": "false" for name in constants}


def _value(node: exp.Expr, stage: Stage, source: StageInput) -> str | None:
    match node:
        case exp.Literal(is_string=True):
            return str(node.this)
        case exp.Cast(this=exp.Literal(is_string=True)) if node.to.is_type("timestamp", "timestamptz", "text"):
            return str(node.this.this)
        case exp.Column() if node.name == SOURCE_COLUMN:
            return _only_source(stage, source)
        case _:
            return None


def _only_source(stage: Stage, source: StageInput) -> str | None:
    if any(segment.query.find(exp.SetOperation) for segment in stage.segments):
        return None  # rows of another relation have another source
    match source.slice:
        case FileSlice(files=(only,)):
            return only.path
        case TableSlice():
            return source.slice.path
        case _:
            return None
