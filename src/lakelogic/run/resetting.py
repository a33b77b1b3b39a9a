"""Batches that load nothing: a reset empties tables and forgets the position, an undo takes it back.

Both stand in the journal like any batch, so that a process that is killed is finished by the next run: the
tables that carry the batch's number are skipped, the others are done.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loguru import logger

from lakelogic.core.faults import fault_point
from lakelogic.record.journal import RESET_SETTING, UNDO_SETTING, Batch, Journal
from lakelogic.run.places import Places
from lakelogic.run.publish import app_id
from lakelogic.table.emptying import Spark, empty_table, restore_table
from lakelogic.table.location import find_companions
from lakelogic.table.protocol import CommitId, TableLocation


def is_reset(batch: Batch) -> bool:
    """Whether a batch empties or restores tables instead of loading rows."""
    return RESET_SETTING in batch.settings or UNDO_SETTING in batch.settings


def companion(name: str) -> str:
    """What a table that belongs to the target is called in settings and reports."""
    return f"target/{name}"


def finish_reset(batch: Batch, journal: Journal, places: Places, dataset: str, open_spark: Spark) -> None:
    """Do what is left to do of such a batch; doing it twice changes nothing."""
    commit_id = CommitId(app_id(dataset), batch.number, batch.run_id)
    assert places.target is not None and places.quarantine is not None
    _change("quarantine", places.quarantine, batch.settings, commit_id, open_spark)
    fault_point("after_quarantine_commit")
    for name, location in find_companions(places.target.path).items():
        _change(companion(name), location, batch.settings, commit_id, open_spark)
    _change("target", places.target, batch.settings, commit_id, open_spark)
    fault_point("after_target_commit")
    journal.mark_committed(batch, note="undo" if UNDO_SETTING in batch.settings else "reset")
    fault_point("after_mark_committed")
    logger.info(f"'{dataset}' was {'restored' if UNDO_SETTING in batch.settings else 'reset'} (batch {batch.number})")


def _change(
    name: str, location: TableLocation, settings: Mapping[str, Any], commit_id: CommitId, open_spark: Spark
) -> None:
    if UNDO_SETTING in settings:
        version = settings["versions"].get(name)
        if version is not None:
            restore_table(location, version, commit_id, open_spark)
    elif name.split("/")[0] in settings[RESET_SETTING]["tables"]:
        empty_table(location, commit_id, open_spark)
