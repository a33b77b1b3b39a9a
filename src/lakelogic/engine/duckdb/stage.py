"""One stage: read once, run the segments, write files split by verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from sqlglot import exp

from lakelogic.engine.duckdb.files import read_staged, write_files
from lakelogic.engine.duckdb.reader import Read, read_link, read_source
from lakelogic.engine.duckdb.relations import Relations
from lakelogic.engine.duckdb.types import literal, quote, to_results, typed_column
from lakelogic.engine.protocol import StageInput
from lakelogic.plan.expressions import column
from lakelogic.plan.files import Staged, StagedFile
from lakelogic.plan.model import ACCEPTED, REJECTED, VERDICT_COLUMN, LinkRead, Observation, Segment, Stage
from lakelogic.plan.stage_builder import table

_MOST_IN_A_ROW: Final = 4
_FIXED = (exp.Literal, exp.Cast, exp.DataType, exp.DataTypeParam)
_PROJECTION = {"expressions", "from_", "where", "kind"}
SKIPPED = "skipped"  # in Staged.counts: headers and blank lines, which are no rows


def run_stage(
    relations: Relations, stage: Stage, source: StageInput, links: Sequence[LinkRead], place: tuple[str, str]
) -> Staged:
    """Write the stage's rows below root/folder and say what was written."""
    read = _read_input(relations, source)
    # A stream can be read once only; a table can be looked at as often as the segments ask.
    add = relations.add_view if read.again and _reads(stage)[stage.input] == 1 else relations.add_table
    add(stage.input, read.sql)
    for link in links:
        relations.add_table(link.name, read_link(relations, link))
    last = _run_segments(relations, stage)
    counts = {name: relations.count(name) for name in _counted(stage)}
    skipped = {SKIPPED: read.text.skipped} if read.text is not None and read.text.skipped else {}
    accepted = _write_accepted(relations, stage, last, place)
    return Staged(
        accepted=accepted,
        rejected=_write_rejected(relations, last, place),
        counts={**counts, **skipped},
        observations=observe(relations, stage.observations, stage.observed_at or last),
        columns=() if accepted else to_results(relations.describe(f"SELECT * FROM {quote(last)}")),
    )


def _read_input(relations: Relations, source: StageInput) -> Read:
    if source.spec is not None and source.slice is not None:
        return read_source(relations, source.spec, source.slice)
    return Read(read_staged(relations, source), again=True)


def _run_segments(relations: Relations, stage: Stage) -> str:
    name, passed = stage.input, _passed_on(stage)
    for segment in stage.segments:
        if segment is stage.segments[-1] and (parts := _parted(segment)) is not None:
            # A run's id beside every row would be stored with every row, only to be read once.
            rows, whole = parts
            relations.add_table(_rows_of(segment.name), relations.sql(rows))
            relations.add_view(segment.name, relations.aligned(relations.sql(whole), segment.columns))
            return segment.name
        sql = relations.aligned(relations.sql(segment.local_query), segment.columns)
        # What one segment alone reads is computed within it; all else stands as rows, or each reader computed it again.
        add = relations.add_view if segment.name in passed else relations.add_table
        add(segment.name, sql)
        name = segment.name
    return name


def _rows_of(name: str) -> str:
    return f"{name}_rows"


def _parted(segment: Segment) -> tuple[exp.Select, exp.Select] | None:
    """A projection as two: of what depends on the row, and of that together with what is the same for all rows."""
    query = segment.local_query
    if not isinstance(query, exp.Select) or any(query.args.get(part) for part in query.args if part not in _PROJECTION):
        return None
    varying = [node for node in query.expressions if not _is_same_for_all(node)]
    if not varying or len(varying) == len(query.expressions) or not all(isinstance(n, exp.Alias) for n in varying):
        return None
    rows = query.copy()
    rows.set("expressions", [node.copy() for node in varying])
    outputs = [n.copy() if _is_same_for_all(n) else column(n.alias) for n in query.expressions]
    whole = exp.Select(expressions=outputs, from_=exp.From(this=table(_rows_of(segment.name))))
    return rows, whole


def _is_same_for_all(node: exp.Expr) -> bool:
    """Literals and casts of literals; functions may look at the clock, or roll dice."""
    return isinstance(node, exp.Alias) and all(isinstance(part, _FIXED) for part in node.this.walk())


def _passed_on(stage: Stage) -> set[str]:
    """Segments that nobody reads but the one behind them, once; never more than a few in a row, which bind quickly."""
    read = _reads(stage)
    passed: set[str] = set()
    in_a_row = 0
    for segment, following in pairwise(stage.segments):
        reads = [table.name for table in following.query.find_all(exp.Table)]
        alone = read[segment.name] == 1 and segment.name in reads
        in_a_row = in_a_row + 1 if alone and not segment.counted and segment.name != stage.observed_at else 0
        if 0 < in_a_row <= _MOST_IN_A_ROW:
            passed.add(segment.name)
        else:
            in_a_row = 0
    return passed


def _reads(stage: Stage) -> Counter[str]:
    """How often the segments name each relation."""
    return Counter(table.name for segment in stage.segments for table in segment.local_query.find_all(exp.Table))


def _counted(stage: Stage) -> list[str]:
    return [stage.input, *(segment.name for segment in stage.segments if segment.counted)]


def _write_accepted(relations: Relations, stage: Stage, last: str, place: tuple[str, str]) -> tuple[StagedFile, ...]:
    columns = ", ".join(typed_column(column) for column in stage.output)
    rows = f"SELECT {columns} FROM {quote(last)} WHERE {VERDICT_COLUMN} = {literal(ACCEPTED)}"
    return write_files(relations, rows, _folder(place, ACCEPTED), stage.partition_by)


def _write_rejected(relations: Relations, last: str, place: tuple[str, str]) -> tuple[StagedFile, ...]:
    rows = f"SELECT * EXCLUDE ({VERDICT_COLUMN}) FROM {quote(last)} WHERE {VERDICT_COLUMN} = {literal(REJECTED)}"
    return write_files(relations, rows, _folder(place, REJECTED))


def _folder(place: tuple[str, str], verdict: str) -> tuple[str, str]:
    root, folder = place
    return root, f"{folder.strip('/')}/{verdict}"


def observe(relations: Relations, observations: Sequence[Observation], name: str) -> dict[str, int]:
    """Numbers over one relation, in one query."""
    if not observations:
        return {}
    # Names such as "failed:amount > 0" are no column names; their position is.
    values = ", ".join(relations.sql(observation.aggregate) for observation in observations)
    row = relations.session.run(f"SELECT {values} FROM {quote(name)}").fetchall()[0]
    return {o.name: int(value or 0) for o, value in zip(observations, row, strict=True)}
