"""Batches that are staged and not committed yet, of all datasets that keep their records in one folder."""

from __future__ import annotations

import os

from lakelogic.record.journal import open_journal


def owned_folders(state: str | None) -> frozenset[str]:
    """Staging folders, below target or quarantine, whose files an unfinished batch will commit."""
    owned: set[str] = set()
    if state is None or not os.path.isdir(state):
        return frozenset()
    for name in os.listdir(state):
        folder = os.path.join(state, name)
        if not os.path.isdir(os.path.join(folder, "journal")):
            continue
        pending = open_journal(folder).pending()
        manifest = pending.manifest if pending is not None else None
        if manifest is not None:
            files = [*manifest["target_files"], *manifest["quarantine_files"]]
            owned |= {str(file["path"]).split("/")[0] for file in files}
    return frozenset(owned)
