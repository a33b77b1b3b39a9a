"""Named relations of one call: temporary views whose names no other call shares.

A remote session gets the frames themselves with each query: what they observe is answered to the request that has them
in its plan, and a view would take them out of it.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from lakelogic.engine.spark.remote import is_remote
from lakelogic.engine.spark.render import rename_relations, render


@dataclass(frozen=True, slots=True)
class Relations:
    """Relations by the names that queries use; views behind them by names of their own."""

    spark: SparkSession
    prefix: str
    names: dict[str, str] = field(default_factory=dict)
    frames: dict[str, Any] = field(default_factory=dict)  # by view, in a remote session

    def add(self, name: str, frame: DataFrame) -> str:
        view = f"{self.prefix}_{len(self.names)}"
        if is_remote(self.spark):
            self.frames[view] = frame
        else:
            frame.createOrReplaceTempView(view)
        self.names[name] = view
        return view

    def query(self, tree: exp.Expr) -> DataFrame:
        text = render(rename_relations(tree, self.names))
        if not self.frames:
            return self.spark.sql(text)
        template = text.replace("{", "{{").replace("}", "}}")
        return self.spark.sql(re.sub(rf"`({self.prefix}_\d+)`", r"{\1}", template), **self.frames)


@contextmanager
def open_relations(spark: SparkSession) -> Iterator[Relations]:
    """Relations that are gone when the block ends, however it ends."""
    relations = Relations(spark, f"lakelogic_{uuid.uuid4().hex}")
    try:
        yield relations
    finally:
        for view in relations.names.values() if not relations.frames else ():
            spark.catalog.dropTempView(view)
