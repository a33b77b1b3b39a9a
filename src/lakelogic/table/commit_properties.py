"""What a commit of ours carries in the log, so that it can be found again."""

from __future__ import annotations

from deltalake import CommitProperties, Transaction

from lakelogic.table.protocol import CommitId


def commit_properties(commit_id: CommitId) -> CommitProperties:
    """The batch as an application transaction, and words for people."""
    return CommitProperties(
        custom_metadata={"userMetadata": commit_id.as_metadata()},
        app_transactions=[Transaction(commit_id.app_id, commit_id.batch)],
    )
