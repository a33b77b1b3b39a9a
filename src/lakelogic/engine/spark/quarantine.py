"""Rejected files become files of the quarantine table, in one small job."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from sqlglot import exp

from lakelogic.core.keys import MaskKeys
from lakelogic.engine.protocol import StageInput
from lakelogic.engine.spark.files import join_path, list_written, read_staged
from lakelogic.engine.spark.instants import by_reference
from lakelogic.engine.spark.lines import readable
from lakelogic.engine.spark.masking import apply_masking
from lakelogic.engine.spark.relations import Relations
from lakelogic.engine.spark.stage import observe, read_observations, write_files
from lakelogic.plan.expressions import function
from lakelogic.plan.files import StagedFile
from lakelogic.plan.fold import RECORD, REJECTED_RELATION, UNFOLDED_RELATION
from lakelogic.plan.model import KEPT_COLUMN, Stage
from lakelogic.plan.types import named


def write_rejected(
    relations: Relations, stage: Stage, rejected: StageInput, keys: MaskKeys, place: tuple[str, str]
) -> tuple[tuple[StagedFile, ...], Mapping[str, int]]:
    """Write the quarantine's rows below root/folder, and count how often each check failed."""
    assert stage.unfold is not None and stage.quarantine is not None
    root, folder = place
    relations.add(REJECTED_RELATION, read_staged(relations.spark, rejected))
    unfolded, tally = observe(_with_readable_records(relations.query(stage.unfold)), stage.rejected_counts)
    relations.add(UNFOLDED_RELATION, unfolded)
    query = by_reference(stage.quarantine.transform(_joined_arrays))
    delivered = write_files(relations.query(apply_masking(query, keys, relations)), join_path(root, folder))
    files = tuple(file for file in list_written(root, folder) if file.rows > 0)
    return files, read_observations(stage.rejected_counts, tally, delivered)


def _with_readable_records(unfolded: DataFrame) -> DataFrame:
    """Records that hold bytes which are no text become readable."""
    record = f"{KEPT_COLUMN}{RECORD}"
    if record not in unfolded.columns:
        return unfolded
    return unfolded.withColumn(record, sf.expr(readable(record)))


def _joined_arrays(node: exp.Expr) -> exp.Expr:
    """Spark compacts an array by interpreting a lambda for each item; joining small arrays is generated code."""
    if not isinstance(node, exp.ArrayCompact) or not isinstance(node.this, exp.Array):
        return node
    items = node.this.expressions
    if not all(isinstance(item, exp.Case) and item.args.get("default") is None for item in items):
        return node
    nothing = exp.Cast(this=exp.Array(expressions=[]), to=named("array<string>"))
    for item in items:
        for branch in item.args["ifs"]:
            branch.set("true", exp.Array(expressions=[branch.args["true"]]))
        item.set("default", nothing.copy())
    return function("CONCAT", *items)
