"""Numbers that rows give while they pass on their way to the files, so that no job counts them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation


@dataclass(frozen=True, slots=True)
class Tally:
    """Aggregates over one relation; read them only after the job that moved its rows."""

    observation: Observation
    relation: DataFrame
    aggregates: Mapping[str, Column]

    def read(self) -> dict[str, int]:
        try:
            seen = self.observation.get
        except (Py4JError, PySparkException):
            # The optimizer proved that no row can reach the output and cut the relation out of the job.
            wanted = [value.alias(name) for name, value in self.aggregates.items()]
            seen = self.relation.agg(*wanted).collect()[0].asDict()
        return {name: int(value or 0) for name, value in seen.items()}


def take_tally(relation: DataFrame, aggregates: Mapping[str, Column]) -> tuple[DataFrame, Tally]:
    """Make the relation count itself as its rows pass."""
    observation = Observation()
    observed = relation.observe(observation, *(value.alias(name) for name, value in aggregates.items()))
    return observed, Tally(observation, relation, aggregates)
