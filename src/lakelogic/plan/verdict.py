"""The last segment of a stage: every row with its verdict, and what the quarantine needs of rejected ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from lakelogic.plan.checks import any_error, count_failures
from lakelogic.plan.expressions import alias, as_text, case, column, function, null_of, text, try_cast
from lakelogic.plan.fold import Fold
from lakelogic.plan.masking import hide_in_quarantine
from lakelogic.plan.model import (
    ACCEPTED,
    HMAC_FUNCTION,
    MALFORMED_COLUMN,
    RAW_COLUMN,
    RECORD_COLUMN,
    REJECTED,
    REJECTED_COLUMN,
    SOURCE_COLUMN,
    VERDICT_COLUMN,
    Column,
    Observation,
    Segment,
    Stage,
)  # fmt: skip
from lakelogic.plan.quarantine import quarantine_rows
from lakelogic.plan.stage_builder import Output, StageBuilder, table
from lakelogic.plan.types import family, same_type, string_type

SEPARATOR = "\x1f"  # between the parts of an id, so that ('a','bc') and ('ab','c') differ


@dataclass(frozen=True, slots=True)
class Secrecy:
    """Which source columns hold personal data, and whether there is a key to keep them with."""

    personal: frozenset[str]
    has_key: bool


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose rows these are."""

    dataset: str
    version: str


def close_stage(
    builder: StageBuilder,
    outputs: Sequence[Output],
    raw: Sequence[Column],
    secrecy: Secrecy,
    owner: Owner,
    *,
    partition_by: tuple[str, ...] = (),
) -> Stage:
    """Finish a stage: rows that failed an error check go to the rejected files, all others to the accepted ones."""
    relation = builder.relation
    masks = relation.failed_columns
    rejected_when = any_error(builder.book.checks, masks)
    keeper = _RejectedRow(builder, tuple(raw), secrecy, owner.dataset)
    query = exp.select(
        *[alias(o.expression, o.column.name) for o in outputs],
        alias(case([(rejected_when.copy(), text(REJECTED))], text(ACCEPTED)), VERDICT_COLUMN),
        alias(case([(rejected_when, keeper.packed())]), REJECTED_COLUMN),
    ).from_(table(relation.name))
    columns = tuple(o.column for o in outputs)
    last = Segment(f"verdict_{builder.number}", query, columns, "split by verdict")
    quarantine, quarantine_columns = quarantine_rows(builder.book.checks, keeper.fold, owner.version, secrecy.personal)
    soft = [check for check in builder.book.checks if check.severity != "error"]
    return Stage(
        input="accepted" if builder.number else "source",
        segments=(*builder.segments, last),
        output=columns,
        partition_by=partition_by,
        observations=count_failures(soft, [column(name) for name in masks]) if soft else (),
        observed_at=relation.name if soft else None,
        unfold=keeper.fold.unfold(),
        rejected_counts=_rejected_counts(builder, keeper.fold),
        quarantine=quarantine,
        quarantine_columns=quarantine_columns,
        checks=tuple(builder.book.checks),
        mask_count=len(masks),
    )


def _rejected_counts(builder: StageBuilder, fold: Fold) -> tuple[Observation, ...]:
    hard = [check for check in builder.book.checks if check.severity == "error"]
    return count_failures(hard, [fold.mask(index) for index in range(fold.masks)])


@dataclass(slots=True)
class _RejectedRow:
    """What is kept of a rejected row: everything as read, personal data out of sight."""

    builder: StageBuilder
    raw: tuple[Column, ...]
    secrecy: Secrecy
    dataset: str

    @property
    def fold(self) -> Fold:
        shown = self.raw if self._has_raw else self.builder.relation.columns
        columns = tuple(Column(c.name, self._type(c)) for c in shown)
        return Fold(columns, len(self.builder.relation.failed_columns))

    def packed(self) -> exp.Expr:
        hidden = self.builder.relation.hidden
        columns = self._source_columns()
        record = column(RECORD_COLUMN) if RECORD_COLUMN in hidden else null_of(string_type())
        parts = [
            self._record(record),
            column(MALFORMED_COLUMN) if MALFORMED_COLUMN in hidden else null_of(string_type()),
            column(SOURCE_COLUMN) if SOURCE_COLUMN in hidden else null_of(string_type()),
            self._id(columns, record),
        ]
        masks = [column(name) for name in self.builder.relation.failed_columns]
        return self.fold.pack(parts, masks, [self._kept(c, value) for c, value in columns])

    @property
    def _has_raw(self) -> bool:
        return f"{RAW_COLUMN}0" in self.builder.relation.hidden

    def _source_columns(self) -> list[tuple[Column, exp.Expr]]:
        """The row as read; after a step that made new rows, the row as that step made it."""
        if self._has_raw:
            return [(c, column(f"{RAW_COLUMN}{number}")) for number, c in enumerate(self.raw)]
        return [(c, self._as_read(c)) for c in self.builder.relation.columns]

    def _as_read(self, c: Column) -> exp.Expr:
        """A made value in the type under which the quarantine knows its name; one column has one type."""
        wanted = self._made_type(c)
        return column(c.name) if same_type(wanted, c.type) else try_cast(column(c.name), wanted)

    def _made_type(self, c: Column) -> exp.DataType:
        read = next((r for r in self.raw if r.name == c.name), None)
        if read is not None:
            return read.type
        return string_type() if family(c.type) == "unknown" else c.type

    def _is_personal(self, c: Column) -> bool:
        if c.masking is not None:
            return False  # masked by an earlier layer
        origin = frozenset({c.name}) if self._has_raw else self.builder.relation.origin(c.name)
        return bool(origin & self.secrecy.personal)

    def _read_type(self, c: Column) -> exp.DataType:
        return c.type if self._has_raw else self._made_type(c)

    def _type(self, c: Column) -> exp.DataType:
        if self._is_personal(c):
            return string_type()
        return self._read_type(c)

    def _kept(self, c: Column, value: exp.Expr) -> exp.Expr:
        return hide_in_quarantine(value, has_key=self.secrecy.has_key) if self._is_personal(c) else value

    def _record(self, record: exp.Expr) -> exp.Expr:
        """A line that could not be split may hold anything, also personal data."""
        if not self.secrecy.personal or RECORD_COLUMN not in self.builder.relation.hidden:
            return record
        return hide_in_quarantine(record, has_key=self.secrecy.has_key)

    def _id(self, columns: list[tuple[Column, exp.Expr]], record: exp.Expr) -> exp.Expr:
        hidden = self.builder.relation.hidden
        source = column(SOURCE_COLUMN) if SOURCE_COLUMN in hidden else text("")
        parts: list[exp.Expr] = [text(self.dataset), source, record.copy()]
        parts += [value.copy() if family(self._read_type(c)) == "text" else _textual(c, value) for c, value in columns]
        joined = []
        for part in parts:
            joined += [exp.Coalesce(this=part, expressions=[text("\x00")]), text(SEPARATOR)]
        return exp.Substring(
            this=function(HMAC_FUNCTION, function("CONCAT", *joined)),
            start=exp.Literal.number("1"),
            length=exp.Literal.number("32"),
        )


def _textual(c: Column, value: exp.Expr) -> exp.Expr:
    match family(c.type):
        case "complex":
            return function("TO_JSON", value.copy())
        case "binary":
            return exp.Hex(this=value.copy())  # bytes need not be a text
        case _:
            return as_text(value.copy())
