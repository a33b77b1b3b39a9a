"""Delta tables without a JVM: files are adopted, or the write is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from deltalake import DeltaTable

from lakelogic.core.errors import CapabilityError
from lakelogic.core.events import Event
from lakelogic.plan.files import StagedFile
from lakelogic.plan.writes import (
    Write,
    WriteAppend,
    WriteCdc,
    WriteMerge,
    WriteOverwrite,
    WriteOverwritePartitions,
    WriteReplace,
    WriteScd2,
)
from lakelogic.table.adopt import adopt_files, find_committed, find_table
from lakelogic.table.delta_schema import find_widened
from lakelogic.table.evolution import check_evolution
from lakelogic.table.local_cdc import check_cdc, commit_cdc
from lakelogic.table.local_history import check_local_history, commit_local_history
from lakelogic.table.local_rows import RowWriter
from lakelogic.table.local_upsert import check_merge, commit_merge
from lakelogic.table.logged_files import are_whole_files
from lakelogic.table.not_null import check_not_null
from lakelogic.table.obstacles import refuse_append_only, require_append_only
from lakelogic.table.protocol import Commit, CommitId, EvolutionPolicy, TableLocation, TableShape
from lakelogic.table.replaced import find_replaced
from lakelogic.table.rewrite import refuse_fractions, refuse_path


class DeltaRsTable:
    """A Delta table through delta-rs; what is done to single rows an engine of this process does."""

    def __init__(self, location: TableLocation, rows: RowWriter | None = None) -> None:
        self.location = location
        self._rows = rows

    def find_committed(self, app_id: str) -> int | None:
        return find_committed(find_table(self.location.path), app_id)

    def check(
        self, write: Write, files: Sequence[StagedFile], shape: TableShape, *, policy: EvolutionPolicy
    ) -> tuple[Event, ...]:
        table = find_table(self.location.path)
        events = check_evolution(table, write, shape, policy)
        refuse_append_only(table, write)
        require_append_only(table, shape)
        check_not_null(self.location.path, table, files, shape)
        rewrites = table is not None and _rewrites(table, write, files, shape)
        if table is not None and (rewrites or find_widened(table, shape)):
            refuse_path(self.location.path)
        if table is not None and rewrites:
            refuse_fractions(table)
        if isinstance(write, WriteMerge):
            check_merge(self.rows, self.location.path, write, files, shape)
        if isinstance(write, WriteCdc):
            check_cdc(self.location.path, shape)
        if isinstance(write, WriteScd2):
            check_local_history(self.location.path, write, shape)
        return events

    @property
    def rows(self) -> RowWriter:
        """Who does what is done to single rows."""
        if self._rows is None:
            raise CapabilityError(
                "strategies `merge`, `cdc` and `scd2` need an engine", hint="open the table with the engine of the run"
            )
        return self._rows

    def commit(self, write: Write, files: Sequence[StagedFile], shape: TableShape, commit_id: CommitId) -> Commit:
        match write:
            case WriteAppend():
                return adopt_files(self.location.path, "append", files, shape, commit_id)
            case WriteOverwrite():
                return adopt_files(self.location.path, "overwrite", files, shape, commit_id)
            case WriteReplace() | WriteOverwritePartitions():
                if not files:  # nothing to put in the place of others
                    return adopt_files(self.location.path, "append", files, shape, commit_id)
                replaced = find_replaced(write, files, shape)
                return adopt_files(self.location.path, "overwrite", files, shape, commit_id, replaced=replaced)
            case WriteMerge():
                return commit_merge(self.rows, self.location.path, write, files, shape, commit_id)
            case WriteCdc():
                return commit_cdc(self.rows, self.location.path, write, files, shape, commit_id)
            case WriteScd2():
                return commit_local_history(self.rows, self.location.path, write, files, shape, commit_id)
            case _:
                assert_never(write)


def _rewrites(table: DeltaTable, write: Write, files: Sequence[StagedFile], shape: TableShape) -> bool:
    """Whether a write replaces rows that are not whole files."""
    if not isinstance(write, WriteReplace | WriteOverwritePartitions) or not files:
        return False
    return not are_whole_files(table, find_replaced(write, files, shape))
