"""The Polars engine: the same contracts without a JVM, compiled to lazy frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl
import pyarrow as pa
from sqlglot import exp

from lakelogic.core.errors import CapabilityError
from lakelogic.core.keys import MaskKeys
from lakelogic.core.slices import Slice
from lakelogic.engine.local.damage import damage_named
from lakelogic.engine.local.masking import mask_calls
from lakelogic.engine.polars.failures import translated
from lakelogic.engine.polars.files import read_rejected, read_staged, write_files
from lakelogic.engine.polars.kept_links import keep_link
from lakelogic.engine.polars.reader import inspect_source, link_types, read_source
from lakelogic.engine.polars.refusals import find_plan_refusals
from lakelogic.engine.polars.relations import Relations, aligned, one_row, open_relations
from lakelogic.engine.polars.row_work import read_rows, write_rows
from lakelogic.engine.polars.stage import observe, run_stage
from lakelogic.engine.polars.types import Type, to_columns
from lakelogic.engine.polars.values import Value, call
from lakelogic.engine.protocol import KeptLink, ReadSpec, StageInput
from lakelogic.engine.registry import EngineOptions
from lakelogic.plan.dataset_rules import one_row as one_row_of
from lakelogic.plan.files import RowInput, Staged, StagedFile
from lakelogic.plan.fold import REJECTED_RELATION, UNFOLDED_RELATION
from lakelogic.plan.model import DECRYPT_FUNCTION, Column, LinkRead, Plan, SourceFacts, Stage


class PolarsEngine:
    """Carries out plans in this process."""

    name = "polars"

    def __init__(self, keys: MaskKeys) -> None:
        self._masks = mask_calls(keys)
        self._links: dict[str, dict[str, Type]] = {}  # what was seen of links, for `refuse`

    @classmethod
    def open(cls, options: EngineOptions) -> PolarsEngine:
        given = [name for name in ("master", "remote", "session") if getattr(options, name) is not None]
        if given:
            raise CapabilityError(
                f"engine `polars` has no use for `{given[0]}`", hint="leave it out, or use engine: spark"
            )
        return cls(options.keys)

    def reach(self, paths: Sequence[str]) -> None:
        """Stores are reached through Arrow's own way in."""

    def inspect(self, spec: ReadSpec, slice: Slice) -> SourceFacts:
        with self._call("looking at the source") as relations:
            return inspect_source(relations, spec, slice)

    def sample(self, spec: ReadSpec, slice: Slice, rows: int) -> pa.Table:
        with self._call("looking at some rows") as relations:
            return read_source(relations, spec, slice).rows.frame.head(rows).collect(engine="streaming").to_arrow()

    def keep_link(self, link: LinkRead, folder: str) -> KeptLink:
        with self._call(f"reading link `{link.name}`") as relations:
            return keep_link(relations, link, folder)

    def inspect_link(self, link: LinkRead) -> tuple[Column, ...]:
        with self._call(f"looking at link `{link.name}`") as relations:
            self._links[link.name] = link_types(relations, link)
            return to_columns(self._links[link.name].items())

    def refuse(self, plan: Plan) -> Sequence[str]:
        return find_plan_refusals(plan, self._links, self._masks)

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
            relations.rows[REJECTED_RELATION] = read_rejected(rejected)
            relations.keep(UNFOLDED_RELATION, relations.query(stage.unfold))
            rows = aligned(relations.query(stage.quarantine), stage.quarantine_columns)
            files = write_files(rows, (root, folder))
            return files, observe(relations, stage.rejected_counts, UNFOLDED_RELATION)

    def evaluate(self, values: Mapping[str, exp.Expr], accepted: StageInput) -> Mapping[str, float | None]:
        if not values:
            return {}
        with self._call("evaluating dataset checks") as relations:
            relations.rows["accepted"] = read_staged(accepted)
            row = one_row(relations.query(one_row_of(list(values.values()))).frame)
            return {name: None if value is None else float(value) for name, value in zip(values, row, strict=True)}

    def frame(self, files: StageInput, *, decrypt: Sequence[str] = ()) -> Any:
        """The staged rows as a polars DataFrame."""
        with self._call("reading staged rows"):
            rows = read_staged(files)
            opened = [self._decrypted(name).alias(name) for name in decrypt if name in rows.types]
            return rows.frame.with_columns(opened).collect()

    def _decrypted(self, name: str) -> pl.Expr:
        return call(self._masks[DECRYPT_FUNCTION][0], [Value(pl.col(name), pl.String())], pl.String()).expr

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
        return

    def interrupt(self) -> None:
        """A query of Polars cannot be broken off: it ends by itself, or its grace does."""

    def close(self) -> None:
        self._links.clear()

    @contextmanager
    def _call(self, doing: str) -> Iterator[Relations]:
        """What every call does: translate errors, leave no relation behind."""
        with translated(doing), open_relations(self._masks) as relations:
            yield relations
