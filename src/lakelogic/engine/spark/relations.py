"""Named relations of one call: temporary views whose names no other call shares."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from lakelogic.engine.spark.render import rename_relations, render


@dataclass(frozen=True, slots=True)
class Relations:
    """Relations by the names that queries use; views behind them by names of their own."""

    spark: SparkSession
    prefix: str
    names: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, frame: DataFrame) -> str:
        view = f"{self.prefix}_{len(self.names)}"
        frame.createOrReplaceTempView(view)
        self.names[name] = view
        return view

    def query(self, tree: exp.Expr) -> DataFrame:
        return self.spark.sql(render(rename_relations(tree, self.names)))


@contextmanager
def open_relations(spark: SparkSession) -> Iterator[Relations]:
    """Relations that are gone when the block ends, however it ends."""
    relations = Relations(spark, f"lakelogic_{uuid.uuid4().hex}")
    try:
        yield relations
    finally:
        for view in relations.names.values():
            spark.catalog.dropTempView(view)
