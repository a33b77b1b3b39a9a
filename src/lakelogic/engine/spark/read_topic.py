"""Messages of a Kafka topic as lines of JSON: exactly the offsets of the slice, whoever reads them again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from lakelogic.core.slices import OffsetRange, TopicSlice
from lakelogic.engine.protocol import ReadSpec
from lakelogic.engine.spark.lines import LINE, Source
from lakelogic.engine.spark.read_json import keys_of_lines, parse_objects
from lakelogic.engine.spark.tally import take_tally
from lakelogic.plan.model import SOURCE_COLUMN

_SAMPLED_OFFSETS = 200  # of each partition


def sample_topic_keys(spark: SparkSession, slice_: TopicSlice, spec: ReadSpec) -> tuple[str, ...]:
    """The keys of the first messages of each partition."""
    head = replace(slice_, ranges=tuple(_head(part) for part in slice_.ranges))
    if not _filled(head):
        return ()
    return keys_of_lines(_lines(spark, head, spec))


def read_topic(spark: SparkSession, slice_: TopicSlice, spec: ReadSpec, names: Sequence[str]) -> Source | None:
    """One object per message; None where the slice has no offsets. A message without a value is no row."""
    if not _filled(slice_):
        return None
    # A tombstone tells Kafka's compaction to forget a key. What happened to the row stands in the message before.
    counts = {"lines": sf.count(sf.lit(1)), "skipped": sf.count_if(sf.col(LINE).isNull())}
    counted, tally = take_tally(_lines(spark, slice_, spec), counts)
    return Source(parse_objects(counted.where(f"{LINE} IS NOT NULL"), names, records=spec.raw), (tally,))


def _lines(spark: SparkSession, slice_: TopicSlice, spec: ReadSpec) -> DataFrame:
    filled = _filled(slice_)
    messages = spark.read.format("kafka").options(
        **{
            "kafka.bootstrap.servers": spec.options["bootstrap_servers"],
            # What a producer's transaction took back is no data; the slice's end was asked for in the same way.
            "kafka.isolation.level": "read_committed",
            "assign": json.dumps({slice_.topic: [part.partition for part in filled]}),
            "startingOffsets": json.dumps({slice_.topic: {str(part.partition): part.start for part in filled}}),
            "endingOffsets": json.dumps({slice_.topic: {str(part.partition): part.end for part in filled}}),
            "failOnDataLoss": "true",
        }
    )
    place = "concat(topic, '/', partition, '@', offset)"
    return messages.load().selectExpr(f"CAST(value AS STRING) AS {LINE}", f"{place} AS {SOURCE_COLUMN}")


def _head(part: OffsetRange) -> OffsetRange:
    return replace(part, end=min(part.end, part.start + _SAMPLED_OFFSETS))


def _filled(slice_: TopicSlice) -> tuple[OffsetRange, ...]:
    return tuple(part for part in slice_.ranges if part.start < part.end)
