"""Named relations of one call: lazy frames, and rows that stand in scratch files until the call ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pyarrow as pa
from sqlglot import exp

from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.engine.polars.casts import cast
from lakelogic.engine.polars.expressions import MaskCalls
from lakelogic.engine.polars.queries import run_query
from lakelogic.engine.polars.rows import Rows
from lakelogic.engine.polars.types import Type, is_null, is_number, keeps_type, of_plan, readable
from lakelogic.engine.polars.values import Value
from lakelogic.plan.model import Column


@dataclass(slots=True)
class Relations:
    """Relations by the names that queries use."""

    scratch: Path
    masks: MaskCalls
    rows: dict[str, Rows] = field(default_factory=dict)
    made: int = 0

    def query(self, tree: exp.Expr) -> Rows:
        return run_query(tree, self.rows, self.masks)

    def keep(self, name: str, rows: Rows) -> None:
        """Rows that are computed now, once, and may be read as often as wanted."""
        path = self._path()
        settled(rows).sink_ipc(path)
        self.rows[name] = scan(path)

    def spill(self, reader: Any) -> Rows:
        """The rows of an Arrow stream, which can be read once only."""
        _refuse_maps(reader.schema)
        path = self._path()
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        return scan(path)

    def count(self, name: str) -> int:
        return int(one_row(self.rows[name].frame.select(pl.len()))[0])

    def numbers(self, trees: Sequence[exp.Expr], name: str) -> tuple[Any, ...]:
        """Aggregates over one relation, in one query."""
        named = [exp.alias_(tree.copy(), f"v{number}", quoted=True) for number, tree in enumerate(trees)]
        query = exp.select(*named).from_(exp.Table(this=exp.to_identifier(name, quoted=True)))
        return one_row(self.query(query).frame)

    def _path(self) -> Path:
        self.made += 1
        return self.scratch / f"{self.made}.arrow"


def one_row(frame: pl.LazyFrame) -> tuple[Any, ...]:
    return tuple(frame.collect(engine="streaming").row(0))


def scan(path: Path) -> Rows:
    frame = pl.scan_ipc(path)
    return rows_of(frame)


def rows_of(frame: pl.LazyFrame) -> Rows:
    """A frame in types that the plan knows."""
    found = frame.collect_schema()
    types = {name: readable(name, type_) for name, type_ in found.items()}
    changed = [pl.col(name).cast(types[name], strict=False) for name, type_ in found.items() if types[name] != type_]
    return Rows(frame.with_columns(changed) if changed else frame, types)


def settled(rows: Rows) -> pl.LazyFrame:
    """The frame with the types that its compiler promised; a column of NULLs only is text."""
    found = rows.frame.collect_schema()
    promised = {name: pl.String() if is_null(type_) else type_ for name, type_ in rows.types.items()}
    changed = [pl.col(name).cast(type_, strict=False) for name, type_ in promised.items() if found[name] != type_]
    return rows.frame.with_columns(changed) if changed else rows.frame


def aligned(rows: Rows, columns: Sequence[Column]) -> Rows:
    """The declared columns in their declared types."""
    wanted: dict[str, Type] = {c.name: of_plan(c.type) for c in columns if c.name in rows.types and not keeps_type(c)}
    changed = {name: type_ for name, type_ in wanted.items() if rows.types[name] != type_}
    if not changed:
        return rows
    casts = [_declared(name, rows.types[name], type_) for name, type_ in changed.items()]
    return Rows(rows.frame.with_columns(casts), {**rows.types, **changed})


def _declared(name: str, have: Type, wanted: Type) -> pl.Expr:
    """A result in the type that the plan promised; one that does not fit stops the run: NULL would be a lie."""
    value = cast(Value(pl.col(name), have), wanted).expr
    if is_number(have) and is_number(wanted):
        value = pl.map_batches([value, pl.col(name)], _complete(name), return_dtype=wanted, is_elementwise=True)
    return value.alias(name)


def _complete(name: str) -> Callable[[Sequence[pl.Series]], pl.Series]:
    def check(columns: Sequence[pl.Series]) -> pl.Series:
        if columns[0].null_count() != columns[1].null_count():
            raise RunError(f"a value of column `{name}` does not fit the type that the plan gave it", code="LL488")
        return columns[0]

    return check


def _refuse_maps(schema: pa.Schema) -> None:
    for column in schema:
        if "map<" in str(column.type):
            raise CapabilityError(
                f"the Polars engine cannot read the map of column `{column.name}`", hint="use engine: spark or duckdb"
            )


@contextmanager
def open_relations(masks: MaskCalls) -> Iterator[Relations]:
    """Relations that are gone when the block ends, however it ends."""
    with TemporaryDirectory(prefix="lakelogic-polars-") as scratch:
        yield Relations(Path(scratch), masks)
