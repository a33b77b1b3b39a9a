"""What a commit of ours carries in the log, so that it can be found again."""

from __future__ import annotations

from collections.abc import Mapping

from deltalake import CommitProperties, Transaction

from lakelogic.table.protocol import CommitId


def commit_properties(commit_id: CommitId, metrics: Mapping[str, int] | None = None) -> CommitProperties:
    """The batch as an application transaction, and words for people; numbers as Spark writes them, as text."""
    told: dict[str, object] = {"userMetadata": commit_id.as_metadata()}
    if metrics is not None:
        told["operationMetrics"] = {name: str(value) for name, value in metrics.items()}
    return CommitProperties(
        custom_metadata=told,
        app_transactions=[Transaction(commit_id.app_id, commit_id.batch)],
    )
