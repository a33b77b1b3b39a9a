"""`sql` steps: the author's own SELECT."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.qualify import qualify

from lakelogic.contract import transformations as t
from lakelogic.plan.attempt import attempt
from lakelogic.plan.checks import Failure
from lakelogic.plan.expressions import column
from lakelogic.plan.model import Column
from lakelogic.plan.query_types import Types, type_query
from lakelogic.plan.relation import SOURCE_NAME, Relation, resolve, unknown_column
from lakelogic.plan.sql import RESOLVE_DIALECT, SqlProblem, parse_query, shorten
from lakelogic.plan.stage_builder import Output, keep
from lakelogic.plan.steps.correlation import refuse_correlations
from lakelogic.plan.steps.failures import stop_on_failures
from lakelogic.plan.steps.shapes import (
    refuse_early_windows,
    refuse_outputs,
    refuse_shapes,
    refuse_sums,
    spell_out_unknown,
)
from lakelogic.plan.types import named
from lakelogic.plan.typing import annotate, check_types, require_boolean
from lakelogic.plan.workbench import Compiled, Workbench
from lakelogic.plan.zeros import without_negative_zeros

_WHOLE_TABLE = ("group", "having", "distinct", "limit", "offset", "order", "qualify", "joins", "laterals", "with_",
                "with", "pivots", "windows", "cluster", "distribute", "sort", "sample")  # fmt: skip


def compile_sql(step: t.SqlStep, bench: Workbench) -> None:
    query = parse_query(step.sql, step.dialect or bench.contract.dialect)
    label = f"sql {shorten(step.sql)}"
    if _is_row_by_row(query):
        assert isinstance(query, exp.Select)
        _compile_rows(query, label, bench)
    else:
        _compile_table(query, label, bench)


def _is_row_by_row(query: exp.Query) -> bool:
    """A SELECT of one row from one row: no joins, groups, windows; its rows can be followed one by one."""
    if not isinstance(query, exp.Select) or any(query.args.get(key) for key in _WHOLE_TABLE):
        return False
    origin = query.find(exp.From)
    plain = origin is not None and isinstance(origin.this, exp.Table) and origin.this.name == SOURCE_NAME
    whole = (exp.AggFunc, exp.Window, exp.Subquery, exp.UDTF, exp.Explode, exp.Posexplode)
    return plain and not any(query.find(kind) for kind in whole) and len(list(query.find_all(exp.Select))) == 1


def _compile_rows(query: exp.Select, label: str, bench: Workbench) -> None:
    relation = bench.relation
    outputs: list[Output] = []
    failures: list[Failure] = []
    for node in query.selects:
        for output, compiled in _outputs(node, bench):
            former = next((i for i, o in enumerate(outputs) if o.column.name == output.column.name), None)
            if former is None:
                outputs.append(output)
            else:
                outputs[former] = output  # a column named again replaces the former one
            failures += bench.step_failure(compiled, label) if compiled else []
    where = query.args.get("where")
    if where is None:
        bench.builder.project(label, outputs, failures=failures)
        return
    # The condition speaks of the columns before the SELECT, as SQL has it.
    typed = check_types(annotate(resolve(where.this, relation, strict=False), relation))
    require_boolean(typed, where.this.sql("databricks"))
    tried = attempt(typed)
    condition = Compiled(tried.expression, named("boolean"), tried.failure)
    marked = bench.step_failure(condition, label)
    if marked:
        bench.builder.project(f"check {label}", [keep(c) for c in relation.columns], failures=marked)
    bench.builder.project(label, outputs, failures=failures, where=condition.expression, effect="removes")


def _outputs(node: exp.Expr, bench: Workbench) -> list[tuple[Output, Compiled | None]]:
    if node.is_star:
        star = node.find(exp.Star)
        left_out = (
            {name.name for name in (star.args.get("except_") or star.args.get("except") or [])} if star else set()
        )
        for name in left_out:
            bench.require(name)
        return [(keep(c), None) for c in bench.relation.columns if c.name not in left_out]
    inner = node.unalias()
    compiled = bench.compile(inner)
    name = node.alias_or_name
    if not name:
        raise SqlProblem("LL215", f"`{shorten(inner.sql('databricks'))}` has no name", "add `AS name` behind it")
    if isinstance(inner, exp.Column) and (found := bench.relation.find(inner.name)):
        renamed = Column(name, found.type, found.nullable, found.comment, found.masking)
        return [(Output(renamed, compiled.expression), compiled)]
    return [(Output(Column(name, compiled.type), compiled.expression), compiled)]


def _compile_table(query: exp.Query, label: str, bench: Workbench) -> None:
    """Joins, groups and windows see accepted rows only; what they make are rows of their own."""
    refuse_shapes(query)
    refuse_outputs(query)
    bench.barrier()
    relation = bench.relation
    known = {SOURCE_NAME: relation, **bench.links}
    _refuse_unknown_tables(query, known)
    qualified = _qualified(query, known)
    refuse_early_windows(qualified)
    refuse_correlations(qualified)
    types = type_query(qualified, {name: {c.name: c.type for c in r.columns} for name, r in known.items()})
    refuse_sums(qualified)
    spell_out_unknown(qualified)
    without_negative_zeros(qualified)
    outputs = _last_of_each_name(qualified, types)
    for node in qualified.find_all(exp.Table):
        if node.name == SOURCE_NAME and not node.db:
            node.set("this", exp.to_identifier(relation.name, quoted=True))
    bench.builder.append(label, qualified, outputs, [], "changes", stop_on_failures(qualified))


def _qualified(query: exp.Query, known: dict[str, Relation]) -> exp.Query:
    """The query with every column tied to its relation, and stars spelled out."""
    schema: dict[str, object] = {name: _types(r) for name, r in known.items() if r.columns}
    closed = all(r.closed for r in known.values())
    try:
        qualified: exp.Query = qualify(
            query.copy(),
            schema=schema,
            dialect=RESOLVE_DIALECT,
            quote_identifiers=True,
            validate_qualify_columns=closed,
        )
    except OptimizeError as error:
        if not closed and "missing source schemas" in str(error) and not any(node.is_star for node in query.selects):
            return query.copy()  # nobody looked at the link yet: whether it has the column shows when one does
        raise _unresolved(error, known) from error
    return qualified


def _types(relation: Relation) -> dict[str, str]:
    return {c.name: c.type.sql("databricks") for c in relation.columns}


def _last_of_each_name(query: exp.Query, types: Types) -> list[Output]:
    """Columns of the result; in a plain SELECT a column named again replaces the former one."""
    if isinstance(query, exp.Select):
        chosen: dict[str, exp.Expr] = {}
        for node in query.selects:
            chosen[node.alias_or_name] = node
        query.set("expressions", list(chosen.values()))
    names = [node.alias_or_name for node in query.selects]
    return [Output(Column(name, types.get(name, named("unknown"))), column(name)) for name in names]


def _refuse_unknown_tables(query: exp.Query, known: dict[str, Relation]) -> None:
    named = {cte.alias for cte in query.find_all(exp.CTE)}
    for node in query.find_all(exp.Table):
        if node.name not in known and node.name not in named:
            choices = ", ".join(f"`{name}`" for name in known)
            raise SqlProblem(
                "LL230", f"there is no relation `{node.name}`", f"use one of {choices}; declare links first"
            )


def _unresolved(error: OptimizeError, known: dict[str, Relation]) -> SqlProblem:
    message = str(error)
    names = [name for relation in known.values() for name in relation.names]
    quoted = message.split("'")
    if len(quoted) > 1:
        return unknown_column(quoted[1].split(".")[-1].strip('"`'), names)
    return SqlProblem("LL220", message.splitlines()[0])
