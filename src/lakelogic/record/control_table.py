"""Small Delta tables that LakeLogic keeps for itself: created on first use, appended to, compacted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from lakelogic.core.errors import RunError
from lakelogic.storage.resolver import short_reason, store_options
from lakelogic.storage.tables import arrow_rows, find_delta

# Each append leaves one tiny file; a reader opens every one of them, so they are folded together this often.
COMPACT_EVERY = 50
_ATTEMPTS = 8
# A file of this size is left alone from then on; otherwise each compaction would write years of records again.
_FILE_BYTES = 16 * 1024 * 1024
# Rows come mostly in the order of time: whoever looks for one run reads some of these groups, not the file.
_WRITING = WriterProperties(compression="ZSTD", max_row_group_size=20_000)
# Nobody reads old versions of these tables, and a long log makes every opening slower.
_CONFIGURATION = {"delta.checkpointInterval": "25", "delta.logRetentionDuration": "interval 1 days"}


def find_control_table(path: str) -> DeltaTable | None:
    """The table at a path, at its newest version."""
    try:
        return find_delta(path)
    except (DeltaError, OSError) as error:
        raise RunError(f"the control table `{path}` cannot be read: {short_reason(error)}", code="LL460") from error


def open_control_table(path: str, schema: pa.Schema) -> DeltaTable:
    """The table at a path, created when it is missing; two processes may do this at once."""
    table = find_control_table(path)
    if table is not None:
        return table
    try:
        options = store_options(path)
        return DeltaTable.create(path, schema, mode="error", configuration=_CONFIGURATION, storage_options=options)
    except (DeltaError, OSError) as error:
        table = find_control_table(path)
        if table is not None:
            return table
        raise RunError(
            f"the control table `{path}` cannot be created: {short_reason(error)}",
            code="LL460",
            hint="check that the folder can be written to, or set LAKELOGIC_STATE to another one",
        ) from error


def append_rows(
    table: DeltaTable,
    schema: pa.Schema,
    rows: Sequence[Mapping[str, Any]],
    *,
    transactions: Mapping[str, int] | None = None,
) -> None:
    """Append rows in one commit that carries these application transactions; then compact if it is time."""
    carried = [Transaction(app_id, version) for app_id, version in (transactions or {}).items()]
    data = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
    try:
        _append(table, data, carried)
    except (DeltaError, OSError) as error:
        raise RunError(
            f"a record could not be written to `{table.table_uri}`: {short_reason(error)}", code="LL462", retryable=True
        ) from error
    if table.version() % COMPACT_EVERY == 0:
        compact_control_table(table)


def delete_rows(table: DeltaTable, condition: str) -> None:
    """Delete rows in one commit; whoever reads the version before goes on reading it."""
    # Not `table.delete`: it leaves texts as views in the files that it writes again, and Arrow cannot filter by those.
    nothing = arrow_rows(table).schema.empty_table()
    for attempt in range(_ATTEMPTS):
        try:
            write_deltalake(table, nothing, mode="overwrite", predicate=condition)
            return
        except CommitFailedError as error:
            if attempt == _ATTEMPTS - 1:
                raise RunError(
                    f"rows of `{table.table_uri}` could not be deleted: others write to it all the time",
                    code="LL462",
                    retryable=True,
                ) from error
            table.update_incremental()


def _append(table: DeltaTable, data: pa.Table, carried: list[Transaction]) -> None:
    """Several datasets share a log: whoever loses the race for a version looks again and takes the next."""
    for attempt in range(_ATTEMPTS):
        try:
            properties = CommitProperties(app_transactions=carried or None)
            # A table that an older version began gets the columns that came later.
            write_deltalake(table, data, mode="append", schema_mode="merge", commit_properties=properties)
            return
        except CommitFailedError:
            if attempt == _ATTEMPTS - 1:
                raise
            table.update_incremental()


def compact_control_table(table: DeltaTable) -> None:
    """Fold the files of a control table together, and remove what it no longer needs."""
    try:
        table.optimize.compact(target_size=_FILE_BYTES, writer_properties=_WRITING)
        # An hour is enough for any reader of these tables, and keeps the folder small.
        table.vacuum(retention_hours=1, enforce_retention_duration=False, dry_run=False)
    except CommitFailedError:
        # Another process compacts at this moment; the next time will do.
        return
