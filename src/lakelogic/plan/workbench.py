"""Where a contract's steps are compiled: the stage in work, the stages done, the links, the mistakes found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from sqlglot import exp

from lakelogic.contract.contract import Contract
from lakelogic.contract.source import TEXT_FORMATS
from lakelogic.core.errors import Problem
from lakelogic.core.watermark import Watermark
from lakelogic.core.window import Window
from lakelogic.plan.attempt import Attempt, attempt
from lakelogic.plan.casting import CastRequest, cast_failure, cast_output
from lakelogic.plan.checks import CheckBook, Failure
from lakelogic.plan.expressions import cast, column
from lakelogic.plan.flags import flag_reason
from lakelogic.plan.lineage import UPSTREAM_PREFIX
from lakelogic.plan.model import (
    FLAG_COLUMN,
    HELPER_COLUMNS,
    HIDDEN_PREFIX,
    OPERATION_COLUMN,
    POSITION_COLUMN,
    RAW_COLUMN,
    SOURCE_COLUMN,
    Column,
)
from lakelogic.plan.relation import Relation, resolve, unknown_column
from lakelogic.plan.sql import SqlProblem, parse_expression
from lakelogic.plan.stage_builder import Output, StageBuilder, keep, replaced
from lakelogic.plan.types import named, string_type
from lakelogic.plan.typing import annotate, check_types, require_boolean
from lakelogic.plan.zeros import without_negative_zeros


@dataclass(frozen=True, slots=True)
class Compiled:
    """An author's expression, ready for a query: it cannot raise; `failure` says for which rows it would have."""

    expression: exp.Expr
    type: exp.DataType
    failure: exp.Expr | None


@dataclass(slots=True)
class Workbench:
    """The state of one compilation; lives only inside build_plan."""

    contract: Contract
    builder: StageBuilder
    links: Mapping[str, Relation]
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    done: list[StageBuilder] = field(default_factory=list)
    window: Window | None = None  # the days that this run is for
    watermark: Watermark | None = None  # the rows that this run is for

    @property
    def relation(self) -> Relation:
        return self.builder.relation

    @contextmanager
    def reporting(self, path: str) -> Iterator[None]:
        """Turn a mistake in SQL into a problem at its place in the contract, and go on."""
        try:
            yield
        except SqlProblem as problem:
            self.problems.append(problem.at(self.contract.at(path)))

    def require(self, name: str) -> Column:
        """A column of the current relation, by the name that an author wrote."""
        found = self.relation.find(name)
        if found is None:
            if self.relation.closed:
                raise unknown_column(name, self.relation.names)
            found = self._assume(name)
        return found

    def _assume(self, name: str) -> Column:
        """In an open relation a name nobody declared is taken for a column of the source, unless it is a slip."""
        resolve(exp.column(name, quoted=True), self.relation, strict=False)
        return Column(name, self._assumed_type())

    def _assumed_type(self) -> exp.DataType:
        source = self.contract.source
        return string_type() if source is not None and source.format in TEXT_FORMATS else named("unknown")

    def expression(self, sql: str, *, dialect: str | None = None, strict: bool = False) -> Compiled:
        """Parse, resolve, type and make safe one expression over the current relation."""
        parsed = parse_expression(sql, dialect or self.contract.dialect)
        return self.compile(parsed, strict=strict)

    def condition(self, sql: str, *, dialect: str | None = None, strict: bool = False) -> Compiled:
        """The same for an expression that must be true or false."""
        parsed = parse_expression(sql, dialect or self.contract.dialect)
        typed = self._typed(parsed, strict)
        require_boolean(typed, sql)
        return _compiled(attempt(typed))

    def compile(self, parsed: exp.Expr, *, strict: bool = False) -> Compiled:
        return _compiled(attempt(self._typed(parsed, strict)))

    def _typed(self, parsed: exp.Expr, strict: bool) -> exp.Expr:
        if parsed.find(exp.AggFunc):
            raise SqlProblem(
                "LL214", f"`{parsed.sql('databricks')}` aggregates rows", "use a `rollup` step or a dataset rule"
            )
        resolved = resolve(parsed, self.relation, strict=strict)
        return without_negative_zeros(check_types(annotate(resolved, self.relation)))

    def step_failure(self, compiled: Compiled, label: str) -> list[Failure]:
        """The check that catches rows for which a step's expression would have raised."""
        if compiled.failure is None:
            return []
        failure = self.builder.book.add(
            compiled.failure, name=label, message=f"Step failed: {label}", category="transformation", kind="step_error"
        )
        return [failure]

    def set_columns(self, label: str, outputs: Sequence[Output], failures: Sequence[Failure] = ()) -> None:
        """Add or replace columns, keep the others."""
        self.builder.project(label, replaced(self.relation.columns, outputs), failures=failures)

    def cast_columns(self, label: str, requests: Sequence[CastRequest]) -> None:
        """Change types: first the values, then the judgement over what stood there before."""
        outputs = replaced(self.relation.columns, [self.cast(request) for request in requests])
        if self.builder.checking:
            self.builder.project(label, outputs)
            return
        before = {f"{HIDDEN_PREFIX}before_{n}": request for n, request in enumerate(requests)}
        hidden = [(name, column(request.source.name)) for name, request in before.items()]
        failures = [cast_failure(self.builder.book, request, column(name)) for name, request in before.items()]
        found = [failure for failure in failures if failure is not None]
        self.builder.project(label, outputs, new_hidden=hidden if found else ())
        if found:
            kept = [keep(c) for c in self.relation.columns]
            self.builder.project(f"check {label}", kept, failures=found, drop_hidden=list(before))

    def cast(self, request: CastRequest) -> Output:
        """The column as declared; how a value becomes that is left open while only mistakes are looked for."""
        return Output(request.target, column(request.source.name)) if self.builder.checking else cast_output(request)

    def link(self, name: str) -> Relation:
        found = self.links.get(name)
        if found is None:
            known = ", ".join(f"`{link}`" for link in self.links) or "none is declared"
            raise SqlProblem("LL230", f"there is no link `{name}`", f"declare it under `links`; known: {known}")
        return found

    def link_column(self, link: Relation, name: str) -> Column:
        found = link.find(name)
        if found is None:
            if link.closed:
                raise unknown_column(name, link.names)
            return Column(name, named("unknown"))
        return found

    def barrier(self) -> None:
        """Close the stage: what follows sees accepted rows only, and all of them."""
        if self.builder.book.flags:
            kept = [keep(c) for c in self.relation.columns]
            self.builder.project("remember failed rules", kept, new_hidden=[(FLAG_COLUMN, flag_reason(self.builder))])
        self.done.append(self.builder)
        # Masks start anew: every row that comes through passed the checks before.
        carried = tuple(name for name in self.relation.hidden if is_carried(name))
        after = replace(self.relation, name="accepted", hidden=carried)
        old = self.builder
        book = CheckBook(flags=old.book.flags, phase=old.book.phase, rejects=old.book.rejects)
        self.builder = StageBuilder(after, number=old.number + 1, book=book, checking=old.checking)


def is_carried(hidden: str) -> bool:
    """Whether a hidden column goes along from stage to stage: what was read, where from, upstream lineage,
    and what the table is to do with the row.
    """
    return hidden in (
        SOURCE_COLUMN,
        FLAG_COLUMN,
        POSITION_COLUMN,
        OPERATION_COLUMN,
        *HELPER_COLUMNS,
    ) or hidden.startswith((RAW_COLUMN, UPSTREAM_PREFIX))


def _compiled(tried: Attempt) -> Compiled:
    type_ = tried.expression.type
    if type_ is not None and type_.this == exp.DataType.Type.NULL:
        # A bare NULL has no type, and a table cannot have a column without one.
        return Compiled(cast(tried.expression, string_type()), string_type(), tried.failure)
    unknown = type_ is None or type_.this == exp.DataType.Type.UNKNOWN
    known = named("unknown") if unknown else type_
    assert known is not None
    return Compiled(tried.expression, known, tried.failure)
