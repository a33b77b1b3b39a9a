"""Collects the segments of one stage while the steps of a contract are compiled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from lakelogic.plan.checks import CheckBook, Failure, any_error, mask_name, mask_updates, place_of
from lakelogic.plan.expressions import alias, any_of, column
from lakelogic.plan.model import DELETE_COLUMN, Column, Effect, Segment
from lakelogic.plan.relation import Relation, origins_of

_UNWRITTEN = exp.select()


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the next relation: its name and type, and how it is made from the current one."""

    column: Column
    expression: exp.Expr


def keep(column_: Column) -> Output:
    return Output(column_, column(column_.name))


@dataclass(slots=True)
class StageBuilder:
    """The stage under construction; `relation` is where the next step starts."""

    relation: Relation
    number: int = 0
    segments: list[Segment] = field(default_factory=list)
    book: CheckBook = field(default_factory=CheckBook)
    checking: bool = False  # only mistakes are wanted: the queries are not written

    def project(
        self,
        label: str,
        outputs: Iterable[Output],
        *,
        failures: Sequence[Failure] = (),
        unless: exp.Expr | None = None,
        new_hidden: Sequence[tuple[str, exp.Expr]] = (),
        drop_hidden: Sequence[str] = (),
        where: exp.Expr | None = None,
        spared: exp.Expr | None = None,
        source: exp.Expr | None = None,
        effect: Effect = "same",
    ) -> None:
        """Append a segment that makes `outputs` from the current relation and carries the hidden columns along."""
        outputs = tuple(outputs)
        if self.checking:
            touched = {mask_name(place_of(failure.check)[0]): None for failure in failures}
            gone = {*dict(new_hidden), *drop_hidden}
            carried = [*self.relation.hidden, *dict(new_hidden), *touched]
            kept = [name for name in dict.fromkeys(carried) if name not in gone or name in dict(new_hidden)]
            self.append(label, _UNWRITTEN, outputs, kept, effect)
            return
        updates = mask_updates(failures, self.relation.hidden, unless)
        gone = {*dict(new_hidden), *drop_hidden}
        kept = [name for name in self.relation.hidden if name not in gone]
        hidden = [alias(updates.pop(name, column(name)), name) for name in kept]
        added = [alias(expression, name) for name, expression in [*new_hidden, *updates.items()]]
        query = exp.select(*[alias(o.expression, o.column.name) for o in outputs], *hidden, *added)
        query = query.from_(source if source is not None else table(self.relation.name))
        if where is not None:
            # Rows that failed already must reach the quarantine, and deletes the table, whatever a filter thinks
            # of their values.
            deletes = [column(DELETE_COLUMN)] if DELETE_COLUMN in self.relation.hidden else []
            passing: list[exp.Expr] = [self.failed(), *deletes] if spared is None else [spared]
            query = query.where(any_of([*passing, where]))
        self.append(label, query, outputs, [name.alias for name in [*hidden, *added]], effect)

    def append(
        self,
        label: str,
        query: exp.Query,
        outputs: Sequence[Output],
        hidden: Sequence[str],
        effect: Effect,
        checked: exp.Query | None = None,
    ) -> None:
        name = f"step_{self.number}_{len(self.segments) + 1}"
        columns = tuple(o.column for o in outputs)
        origins = {} if self.checking else {o.column.name: origins_of(o.expression, self.relation) for o in outputs}
        self.segments.append(Segment(name, query, columns, label, effect, effect != "same", checked))
        self.relation = replace(self.relation, name=name, columns=columns, hidden=tuple(hidden), origins=origins)

    def failed(self) -> exp.Expr:
        """True for rows that failed a check so far."""
        return any_error(self.book.checks, self.relation.failed_columns)


def table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def replaced(columns: Sequence[Column], outputs: Sequence[Output]) -> list[Output]:
    """All columns, where an output of the same name takes the former one's place and new ones stand at the end."""
    by_name = {output.column.name: output for output in outputs}
    result = [by_name.pop(c.name) if c.name in by_name else keep(c) for c in columns]
    return [*result, *by_name.values()]
