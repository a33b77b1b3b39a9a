"""What a merge asks of the plan: an order that compares, keys that stand once, rows that are to go."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lakelogic.contract.materialization import Merge
from lakelogic.plan.expressions import alias, all_of, column, negate, number
from lakelogic.plan.model import DELETE_COLUMN, Column
from lakelogic.plan.ordering import parse_term
from lakelogic.plan.relation import unknown_column
from lakelogic.plan.sql import SqlProblem, shorten
from lakelogic.plan.stage_builder import keep, table
from lakelogic.plan.types import family, type_name
from lakelogic.plan.workbench import Workbench
from lakelogic.plan.writes import WriteMerge

SAME_KEY_COLUMN = "_lakelogic_same_key"


def prepare_merge(bench: Workbench) -> None:
    """After the last rule: set repeated keys aside, and mark the rows that are to go."""
    materialization = bench.contract.materialization
    if materialization is None or materialization.strategy not in {"merge", "scd2"}:
        return
    if materialization.merge.on_duplicate_key == "quarantine" and bench.contract.primary_key:
        _reject_repeated_keys(bench, bench.contract.primary_key)
    if materialization.merge.delete_when is not None:
        _mark_deletes(bench, materialization.merge.delete_when)


def merge_write(bench: Workbench, output: Sequence[Column]) -> WriteMerge:
    """The write of strategy `merge`; what it names must be there and, to be an order, must compare."""
    assert bench.contract.materialization is not None
    merge = bench.contract.materialization.merge
    _check_names(bench, merge, {c.name: c for c in output})
    return WriteMerge(
        bench.contract.primary_key,
        merge.order_by,
        merge.on_duplicate_key or ("latest" if merge.order_by else "fail"),
        merge.update_columns or (),
        merge.insert_only,
        merge.delete_when is not None,
        merge.delete_missing,
        float(merge.max_delete_ratio) if merge.max_delete_ratio is not None else None,
        bench.contract.personal,
    )


def _check_names(bench: Workbench, merge: Merge, known: dict[str, Column]) -> None:
    for index, term in enumerate(merge.order_by):
        with bench.reporting(f"materialization.merge.order_by.{index}"):
            found = _require(bench, parse_term(term)[0], known)
            if found is not None and family(found.type) in {"complex", "binary"}:
                raise SqlProblem("LL222", f"`{found.name}` is {type_name(found.type)}, which has no order")
    for index, name in enumerate(merge.update_columns or ()):
        with bench.reporting(f"materialization.merge.update_columns.{index}"):
            _require(bench, name, known)
            if name in bench.contract.primary_key:
                raise SqlProblem("LL245", f"`{name}` is a key column, which an update cannot change")


def _require(bench: Workbench, name: str, known: dict[str, Column]) -> Column | None:
    if name not in known and bench.relation.closed:
        raise unknown_column(name, known)
    return known.get(name)


def _mark_deletes(bench: Workbench, sql: str) -> None:
    with bench.reporting("materialization.merge.delete_when"):
        compiled = bench.condition(sql, strict=bool(bench.contract.fields))
        failures = bench.step_failure(compiled, f"delete_when {shorten(sql)}")
        going = exp.Coalesce(this=compiled.expression, expressions=[exp.false()])
        kept = [keep(c) for c in bench.relation.columns]
        bench.builder.project("mark rows to delete", kept, failures=failures, new_hidden=[(DELETE_COLUMN, going)])


def _reject_repeated_keys(bench: Workbench, keys: Sequence[str]) -> None:
    """All rows of a key that stands more than once are rejected; rows that failed before do not count."""
    if any(bench.relation.find(key) is None for key in keys):
        return  # told elsewhere
    failed = bench.builder.failed()
    partition: list[exp.Expr] = [failed.copy(), *[column(key) for key in keys]]
    count = exp.Window(this=exp.Count(this=exp.Star()), partition_by=partition, over="OVER")
    counted = exp.select(exp.Star(), alias(count, SAME_KEY_COLUMN)).from_(table(bench.relation.name))
    names = ", ".join(keys)
    repeated = exp.GT(this=column(SAME_KEY_COLUMN), expression=number(1))
    failure = bench.builder.book.add(
        all_of([repeated, negate(failed)]),
        name=f"{names} is unique in the batch",
        message=f"Rule failed: {names} is unique in the batch",
        category="uniqueness",
        kind="key",
    )
    kept = [keep(c) for c in bench.relation.columns]
    bench.builder.project("check for repeated keys", kept, failures=[failure], source=counted.subquery("counted"))
