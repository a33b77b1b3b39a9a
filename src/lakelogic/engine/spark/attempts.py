"""Whether a job had to compute some of its parts again.

Numbers that rows give as they pass are counted once for each task that ends well. Where a worker is lost, tasks before
a shuffle that had ended well run a second time, and their rows are counted a second time. The files are right; the
numbers are not.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from lakelogic.engine.spark.remote import is_remote

_GROUP = "spark.jobGroup.id"


@dataclass(slots=True)
class Attempts:
    """What became of the jobs of a block, once it has ended."""

    repeated: bool = False


@contextmanager
def watch_attempts(spark: SparkSession) -> Iterator[Attempts]:
    """Look whether tasks of the block's jobs failed; a remote session does not say, there the ledger alone judges."""
    attempts = Attempts()
    if is_remote(spark):
        yield attempts
        return
    context, group = spark.sparkContext, f"lakelogic-{uuid.uuid4().hex}"
    before = context.getLocalProperty(_GROUP)
    context.setLocalProperty(_GROUP, group)
    try:
        yield attempts
    finally:
        context.setLocalProperty(_GROUP, before)  # type: ignore[arg-type]  # None takes it away
    attempts.repeated = _has_failures(spark, group)


def _has_failures(spark: SparkSession, group: str) -> bool:
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    return any(stage is not None and (stage.numFailedTasks or stage.currentAttemptId) for stage in stages)
