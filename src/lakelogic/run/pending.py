"""Batches that are staged and not committed yet, of all datasets that keep their records in one folder."""

from __future__ import annotations

from lakelogic.record.journal import open_journal
from lakelogic.storage.files import folder_exists, list_folders


def owned_folders(state: str | None) -> frozenset[str]:
    """Staging folders, below target or quarantine, whose files an unfinished batch will commit."""
    owned: set[str] = set()
    if state is None:
        return frozenset()
    for name in list_folders(state):
        folder = f"{state.rstrip('/')}/{name}"
        if not folder_exists(f"{folder}/journal"):
            continue
        pending = open_journal(folder).pending()
        manifest = pending.manifest if pending is not None else None
        if manifest is not None:
            files = [*manifest["target_files"], *manifest["quarantine_files"]]
            owned |= {str(file["path"]).split("/")[0] for file in files}
    return frozenset(owned)
