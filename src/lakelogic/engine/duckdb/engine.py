"""The DuckDB engine: the same contracts without a JVM, for data that one machine holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pyarrow as pa
from sqlglot import exp

from lakelogic.core.errors import CapabilityError
from lakelogic.core.keys import MaskKeys
from lakelogic.core.slices import Slice
from lakelogic.engine.duckdb.failures import translated
from lakelogic.engine.duckdb.files import read_rejected, read_staged, write_files
from lakelogic.engine.duckdb.kept_links import keep_link
from lakelogic.engine.duckdb.reader import inspect_source, link_columns, sample_source
from lakelogic.engine.duckdb.refusals import find_plan_refusals
from lakelogic.engine.duckdb.relations import Relations, open_relations
from lakelogic.engine.duckdb.row_work import read_rows, write_rows
from lakelogic.engine.duckdb.session import Session
from lakelogic.engine.duckdb.stage import observe, run_stage
from lakelogic.engine.duckdb.types import quote, to_columns
from lakelogic.engine.local.damage import damage_named
from lakelogic.engine.protocol import KeptLink, ReadSpec, StageInput
from lakelogic.engine.registry import EngineOptions
from lakelogic.plan.dataset_rules import one_row
from lakelogic.plan.files import RowInput, Staged, StagedFile
from lakelogic.plan.fold import REJECTED_RELATION, UNFOLDED_RELATION
from lakelogic.plan.model import DECRYPT_FUNCTION, Column, LinkRead, Plan, SourceFacts, Stage
from lakelogic.storage.address import is_remote


class DuckDbEngine:
    """Carries out plans on one DuckDB database in memory."""

    name = "duckdb"

    def __init__(self, keys: MaskKeys, memory: str | None = None) -> None:
        self._session = Session(keys, memory)

    @classmethod
    def open(cls, options: EngineOptions) -> DuckDbEngine:
        given = [name for name in ("master", "remote", "session") if getattr(options, name) is not None]
        if given:
            raise CapabilityError(
                f"engine `duckdb` has no use for `{given[0]}`", hint="leave it out, or use engine: spark"
            )
        return cls(options.keys, options.settings.duckdb_memory)

    def reach(self, paths: Sequence[str]) -> None:
        if any(is_remote(path) for path in paths):
            self._session.mount_stores()

    def inspect(self, spec: ReadSpec, slice: Slice) -> SourceFacts:
        with self._call("looking at the source") as relations:
            return inspect_source(relations, spec, slice)

    def sample(self, spec: ReadSpec, slice: Slice, rows: int) -> pa.Table:
        with self._call("looking at some rows") as relations:
            return sample_source(relations, spec, slice, rows)

    def inspect_link(self, link: LinkRead) -> tuple[Column, ...]:
        with self._call(f"looking at link `{link.name}`") as relations:
            return to_columns(link_columns(relations, link))

    def keep_link(self, link: LinkRead, folder: str) -> KeptLink:
        with self._call(f"reading link `{link.name}`") as relations:
            return keep_link(relations, link, folder)

    def refuse(self, plan: Plan) -> Sequence[str]:
        return find_plan_refusals(plan)

    def stage(self, stage: Stage, source: StageInput, links: Sequence[LinkRead], *, root: str, folder: str) -> Staged:
        with damage_named(source), self._call("staging rows") as relations:
            return run_stage(relations, stage, source, links, (root, folder))

    def write_quarantine(
        self,
        stage: Stage,
        rejected: StageInput,
        *,
        root: str,
        folder: str,
    ) -> tuple[tuple[StagedFile, ...], Mapping[str, int]]:
        if not rejected.staged or stage.unfold is None or stage.quarantine is None:
            return (), {}
        with self._call("writing the quarantine") as relations:
            relations.add_view(REJECTED_RELATION, read_rejected(rejected))
            relations.add_table(UNFOLDED_RELATION, relations.sql(stage.unfold))
            rows = relations.aligned(relations.sql(stage.quarantine), stage.quarantine_columns)
            files = write_files(relations, rows, (root, folder))
            return files, observe(relations, stage.rejected_counts, UNFOLDED_RELATION)

    def evaluate(self, values: Mapping[str, exp.Expr], accepted: StageInput) -> Mapping[str, float | None]:
        if not values:
            return {}
        with self._call("evaluating dataset checks") as relations:
            relations.add_view("accepted", read_staged(relations, accepted))
            row = relations.session.run(relations.sql(one_row(list(values.values())))).fetchall()[0]
            return {name: None if value is None else float(value) for name, value in zip(values, row, strict=True)}

    def frame(self, files: StageInput, *, decrypt: Sequence[str] = ()) -> Any:
        """A polars DataFrame where polars is installed, else a pyarrow Table; both have a length."""
        with self._call("reading staged rows") as relations:
            rows = read_staged(relations, files)
            opened = ", ".join(f"{DECRYPT_FUNCTION}({quote(name)}) AS {quote(name)}" for name in decrypt)
            shown = f"SELECT * REPLACE ({opened}) FROM ({rows})" if opened else rows
            table = self._session.query(shown).to_arrow_table()
        if find_spec("polars") is None:
            return table
        import polars

        return polars.from_arrow(table)

    def write_rows(
        self,
        query: exp.Query,
        inputs: Mapping[str, RowInput],
        columns: Sequence[Column],
        *,
        root: str,
        folder: str,
        partition_by: Sequence[str] = (),
    ) -> tuple[StagedFile, ...]:
        with self._call("writing rows of a table") as relations:
            return write_rows(relations, query, inputs, columns, (root, folder), partition_by)

    def read_rows(self, query: exp.Query, inputs: Mapping[str, RowInput]) -> list[tuple[Any, ...]]:
        with self._call("looking at rows of a table") as relations:
            return read_rows(relations, query, inputs)

    def make_interruptible(self) -> None:
        return  # a connection always is

    def interrupt(self) -> None:
        self._session.connection.interrupt()

    def close(self) -> None:
        self._session.close()

    @contextmanager
    def _call(self, doing: str) -> Iterator[Relations]:
        """What every call does: translate errors, leave no relation behind."""
        with translated(doing), open_relations(self._session) as relations:
            yield relations
