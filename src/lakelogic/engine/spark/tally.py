"""Numbers that rows give while they pass on their way to the files, so that no job counts them again."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation

from lakelogic.core.jvm import jvm_errors
from lakelogic.engine.spark.remote import is_remote


@dataclass(frozen=True, slots=True)
class Delivered:
    """What a job told beside its files."""

    numbers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of a remote session, by observation
    repeated: bool = False  # parts were computed again, so that rows may be counted twice


@dataclass(frozen=True, slots=True)
class Tally:
    """Aggregates over one relation; read them only after the job that moved its rows."""

    name: str
    observation: Observation
    relation: DataFrame
    aggregates: Mapping[str, Column]

    def read(self, delivered: Delivered) -> dict[str, int]:
        try:
            seen = delivered.numbers[self.name] if is_remote(self.relation) else self.observation.get
        except jvm_errors(KeyError, PySparkException):
            # The optimizer proved that no row can reach the output and cut the relation out of the job.
            seen = self._count_again()
        if delivered.repeated:
            seen = self._count_again()
        return {name: int(value or 0) for name, value in seen.items()}

    def _count_again(self) -> Mapping[str, Any]:
        wanted = [value.alias(name) for name, value in self.aggregates.items()]
        found: dict[str, Any] = self.relation.agg(*wanted).collect()[0].asDict()
        return found


def take_tally(relation: DataFrame, aggregates: Mapping[str, Column]) -> tuple[DataFrame, Tally]:
    """Make the relation count itself as its rows pass."""
    name = f"lakelogic_{uuid.uuid4().hex}"
    observation = Observation(name)
    observed = relation.observe(observation, *(value.alias(name) for name, value in aggregates.items()))
    return observed, Tally(name, observation, relation, aggregates)


def take_delivery(written: DataFrame, *, repeated: bool) -> Delivered:
    """What a remote session answered to the write of a frame; elsewhere observations know their numbers themselves.

    The client forgets observations below a query in SQL, so they never get theirs there.
    """
    info = written.executionInfo if is_remote(written) else None
    return Delivered(dict(info.flows) if info else {}, repeated)
