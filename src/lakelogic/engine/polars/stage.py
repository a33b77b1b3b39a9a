"""One stage: read once, run the segments, write files split by verdict."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from lakelogic.engine.polars.files import read_staged, write_files, write_split
from lakelogic.engine.polars.reader import Read, read_link, read_source
from lakelogic.engine.polars.relations import Relations, aligned
from lakelogic.engine.polars.rows import Rows
from lakelogic.engine.polars.types import to_columns
from lakelogic.engine.protocol import StageInput
from lakelogic.plan.files import Staged, StagedFile
from lakelogic.plan.model import ACCEPTED, REJECTED, VERDICT_COLUMN, LinkRead, Observation, Stage

SKIPPED = "skipped"  # in Staged.counts: headers and blank lines, which are no rows


def run_stage(
    relations: Relations, stage: Stage, source: StageInput, links: Sequence[LinkRead], place: tuple[str, str]
) -> Staged:
    """Write the stage's rows below root/folder and say what was written."""
    read = _read_input(relations, source)
    if read.again:
        relations.rows[stage.input] = read.rows
    else:
        relations.keep(stage.input, read.rows)
    for link in links:
        relations.keep(link.name, read_link(relations, link))
    last = _run_segments(relations, stage)
    accepted, rejected = (
        _write_at_once(relations, stage, last, place)
        if _is_read_once(stage)
        else (_write_accepted(relations, stage, last, place), _write_rejected(relations, last, place))
    )
    counts = {name: relations.count(name) for name in _counted(stage)}
    skipped = {SKIPPED: read.text.skipped} if read.text is not None and read.text.skipped else {}
    return Staged(
        accepted=accepted,
        rejected=rejected,
        counts={**counts, **skipped},
        observations=observe(relations, stage.observations, stage.observed_at or last),
        columns=() if accepted else to_columns(relations.rows[last].types.items()),
    )


def _read_input(relations: Relations, source: StageInput) -> Read:
    if source.spec is not None and source.slice is not None:
        return read_source(relations, source.spec, source.slice)
    return Read(read_staged(source), again=True)


def _run_segments(relations: Relations, stage: Stage) -> str:
    name = stage.input
    for segment in stage.segments:
        rows = aligned(relations.query(segment.local_query), segment.columns)
        name = segment.name
        last = segment is stage.segments[-1] and not _is_read_once(stage)
        if last or segment.counted or name == stage.observed_at:
            # Rows stand where more than one reader looks at them: computed twice they might differ.
            relations.keep(name, rows)
        else:
            relations.rows[name] = rows
    return name


def _is_read_once(stage: Stage) -> bool:
    """Whether verdicts are written and not looked at otherwise, so that rows are split while they are written."""
    observed = stage.observations and (stage.observed_at is None or stage.observed_at == stage.segments[-1].name)
    return bool(stage.segments) and not (stage.segments[-1].counted or observed or stage.partition_by)


def _write_at_once(
    relations: Relations, stage: Stage, last: str, place: tuple[str, str]
) -> tuple[tuple[StagedFile, ...], tuple[StagedFile, ...]]:
    root, folder = place
    files = write_split(aligned(relations.rows[last], stage.output), VERDICT_COLUMN, (root, folder.strip("/")))
    of_verdict = {verdict: _folder(place, verdict)[1] for verdict in (ACCEPTED, REJECTED)}
    accepted, rejected = ([f for f in files if f.path.startswith(f"{of_verdict[v]}/")] for v in (ACCEPTED, REJECTED))
    return tuple(accepted), tuple(rejected)


def _counted(stage: Stage) -> list[str]:
    return [stage.input, *(segment.name for segment in stage.segments if segment.counted)]


def _write_accepted(relations: Relations, stage: Stage, last: str, place: tuple[str, str]) -> tuple[StagedFile, ...]:
    rows = relations.rows[last]
    kept = Rows(rows.frame.filter(pl.col(VERDICT_COLUMN) == ACCEPTED), rows.types)
    names = [column.name for column in stage.output]
    typed = aligned(kept, stage.output)
    chosen = Rows(typed.frame.select(names), {name: typed.types[name] for name in names})
    return write_files(chosen, _folder(place, ACCEPTED), stage.partition_by)


def _write_rejected(relations: Relations, last: str, place: tuple[str, str]) -> tuple[StagedFile, ...]:
    rows = relations.rows[last]
    kept = rows.frame.filter(pl.col(VERDICT_COLUMN) == REJECTED).drop(VERDICT_COLUMN)
    types = {name: type_ for name, type_ in rows.types.items() if name != VERDICT_COLUMN}
    return write_files(Rows(kept, types), _folder(place, REJECTED))


def _folder(place: tuple[str, str], verdict: str) -> tuple[str, str]:
    root, folder = place
    return root, f"{folder.strip('/')}/{verdict}"


def observe(relations: Relations, observations: Sequence[Observation], name: str) -> dict[str, int]:
    """Numbers over one relation, in one query."""
    if not observations:
        return {}
    row = relations.numbers([observation.aggregate for observation in observations], name)
    return {o.name: int(value or 0) for o, value in zip(observations, row, strict=True)}
