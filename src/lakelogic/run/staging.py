"""Staging: everything is computed and written, and nobody sees it yet."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlglot import exp

from lakelogic.core.faults import fault_point
from lakelogic.core.slices import Slice
from lakelogic.engine.protocol import Engine, ReadSpec, StageInput
from lakelogic.engine.registry import READS_IN_PARTS
from lakelogic.plan.expressions import bind, text
from lakelogic.plan.files import Staged, StagedFile
from lakelogic.plan.model import REJECTED_COLUMN, Column, LinkRead, Plan, Stage, table_columns
from lakelogic.record.ledger import Ledger, build_ledger
from lakelogic.run.databases import held
from lakelogic.storage.files import list_names, remove_file, remove_tree
from lakelogic.table.adopt import known_folders
from lakelogic.table.parquet_types import fill_unknown_types, take_unknown_types


@dataclass(frozen=True, slots=True)
class StagingArea:
    """Where a batch writes: a folder of its own below each table's folder."""

    target_root: str
    quarantine_root: str
    folder: str


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """All files of a batch, and every number about it."""

    accepted: tuple[StagedFile, ...]
    output: tuple[Column, ...]  # without the helper columns that accepted files may have beside
    rejected: tuple[StagedFile, ...]  # files of the quarantine table
    quarantine_columns: tuple[Column, ...]
    ledger: Ledger
    failed: Mapping[str, int]  # rule name -> rows
    dataset_values: Mapping[str, float | None]


def stage_batch(
    engine: Engine,
    plan: Plan,
    spec: ReadSpec,
    slice_: Slice,
    links: Sequence[LinkRead],
    area: StagingArea,
    *,
    run_id: str,
    started_at: datetime,
) -> StagedBatch:
    """Run the stages of a plan one after the other; what is rejected on the way becomes quarantine files."""
    bound = [_bind_stage(stage, run_id, started_at) for stage in plan.stages]
    done: list[tuple[Stage, Staged]] = []
    failed: dict[str, int] = {}
    rejected: list[StagedFile] = []
    quarantine_columns: tuple[Column, ...] = ()
    values: Mapping[str, float | None] = {}
    source = StageInput(spec=spec, slice=slice_)
    for number, stage in enumerate(bound):
        folder = os.path.join(area.folder, f"stage{number}") if len(bound) > 1 else area.folder
        with held(source.spec, side_by_side=engine.name in READS_IN_PARTS) as read:
            held_source = replace(source, spec=read)
            staged = engine.stage(stage, held_source, links, root=area.target_root, folder=folder)
        done.append((stage, staged))
        output = take_unknown_types(stage.output, staged.columns)
        output = fill_unknown_types(output, area.target_root, staged.accepted)
        fault_point("after_stage")
        _add(failed, staged.observations)
        files, columns, counts = _quarantine(engine, stage, staged, output, area, number)
        rejected += files
        quarantine_columns = _joined(quarantine_columns, columns)
        _add(failed, counts)
        source = StageInput(staged_root=area.target_root, staged=staged.accepted, columns=output)
        if number == plan.judged_stage and plan.dataset_checks:
            values = engine.evaluate({check.name: check.value for check in plan.dataset_checks}, source)
    fault_point("after_quarantine_files")
    _drop_scratch(done, area)
    skipped = done[0][1].counts.get("skipped", 0)
    ledger = build_ledger(done, quarantined=sum(file.rows for file in rejected), skipped=skipped)
    return StagedBatch(
        done[-1][1].accepted, table_columns(source.columns), tuple(rejected), quarantine_columns, ledger, failed, values
    )


def _quarantine(
    engine: Engine, stage: Stage, staged: Staged, output: tuple[Column, ...], area: StagingArea, number: int
) -> tuple[tuple[StagedFile, ...], tuple[Column, ...], Mapping[str, int]]:
    if not staged.rejected_rows or stage.quarantine is None:
        return (), stage.quarantine_columns, {}
    folder = os.path.join(area.folder, f"stage{number}")
    kept = Column(REJECTED_COLUMN, exp.DataType.build("unknown"))
    columns = fill_unknown_types((*output, kept), area.target_root, staged.rejected)
    rejected = StageInput(staged_root=area.target_root, staged=staged.rejected, columns=columns)
    files, counts = engine.write_quarantine(stage, rejected, root=area.quarantine_root, folder=folder)
    return files, fill_unknown_types(stage.quarantine_columns, area.quarantine_root, files), counts


def _joined(before: tuple[Column, ...], more: tuple[Column, ...]) -> tuple[Column, ...]:
    names = {column.name for column in before}
    return (*before, *[column for column in more if column.name not in names])


def _add(total: dict[str, int], counts: Mapping[str, int]) -> None:
    for name, number in counts.items():
        rule = name.removeprefix("failed:")
        total[rule] = total.get(rule, 0) + number


def _drop_scratch(done: Sequence[tuple[Stage, Staged]], area: StagingArea) -> None:
    """Rejected files are in the quarantine now, and rows between stages have gone on; neither stays behind."""
    for number, (_, staged) in enumerate(done):
        last = number == len(done) - 1
        for file in [*staged.rejected, *(() if last else staged.accepted)]:
            remove_file(os.path.join(area.target_root, file.path))


def staging_prefix(kind: str, batch: int, dataset: str) -> str:
    """How the folders of a batch begin; several datasets may stage below one table."""
    return f"{kind}-{batch:08d}-{hashlib.sha256(dataset.encode()).hexdigest()[:8]}-"


def discard(area: StagingArea, batch: int, dataset: str) -> None:
    """Remove what an earlier attempt at this batch left; never what a table shows to readers.

    Batch numbers begin again at 1 where the journal was lost, and then the folder of batch 1 may hold rows.
    """
    wanted = tuple(staging_prefix(kind, batch, dataset) for kind in ("batch", "merge"))
    for root in (area.target_root, area.quarantine_root):
        left = [name for name in list_names(root) if name.startswith(wanted)]
        shown = known_folders(root) if left else frozenset()
        for name in left:
            if name not in shown:
                remove_tree(os.path.join(root, name))


def _bind_stage(stage: Stage, run_id: str, started_at: datetime) -> Stage:
    instant = started_at.isoformat(sep=" ", timespec="microseconds")
    values: dict[str, exp.Expr] = {
        "run_id": text(run_id),
        "processed_at": text(instant),
        "now": text(instant),
        "today": text(started_at.date().isoformat()),
    }

    def bound(query: Any) -> Any:
        return bind(query, values) if query is not None else None

    segments = tuple(replace(s, query=bound(s.query), checked=bound(s.checked)) for s in stage.segments)
    return replace(stage, segments=segments, quarantine=bound(stage.quarantine))
