"""Every transformation of the contract, compiled to segments."""

from __future__ import annotations

from typing import assert_never

from lakelogic.contract import transformations as t
from lakelogic.contract.transformations import Transformation
from lakelogic.plan.steps import columns, groups, joins, queries, rows
from lakelogic.plan.workbench import Workbench


def compile_step(step: Transformation, bench: Workbench) -> None:
    """Append what one step does to the stage in work."""
    with bench.reporting(f"{step.path}.{step.kind}"):
        _compile(step, bench)


def _compile(step: Transformation, bench: Workbench) -> None:  # noqa: C901 - one line per kind of step
    match step:
        case t.SqlStep():
            queries.compile_sql(step, bench)
        case t.Rename():
            columns.compile_rename(step, bench)
        case t.Select():
            columns.compile_select(step, bench)
        case t.Drop():
            columns.compile_drop(step, bench)
        case t.Cast():
            columns.compile_cast(step, bench)
        case t.Trim() | t.Lower() | t.Upper():
            columns.compile_text(step, bench)
        case t.Derive():
            columns.compile_derive(step, bench)
        case t.CoalesceStep():
            columns.compile_coalesce(step, bench)
        case t.MapValues():
            columns.compile_map_values(step, bench)
        case t.Split():
            columns.compile_split(step, bench)
        case t.JsonExtract():
            columns.compile_json_extract(step, bench)
        case t.Bucket():
            columns.compile_bucket(step, bench)
        case t.DateDiff():
            columns.compile_date_diff(step, bench)
        case t.Filter():
            rows.compile_filter(step, bench)
        case t.Deduplicate():
            rows.compile_deduplicate(step, bench)
        case t.Explode():
            rows.compile_explode(step, bench)
        case t.DateRangeExplode():
            rows.compile_date_range(step, bench)
        case t.Unpivot():
            rows.compile_unpivot(step, bench)
        case t.Lookup():
            joins.compile_lookup(step, bench)
        case t.Join():
            joins.compile_join(step, bench)
        case t.Union():
            joins.compile_union(step, bench)
        case t.WindowStep():
            groups.compile_window(step, bench)
        case t.Rollup():
            groups.compile_rollup(step, bench)
        case t.Pivot():
            groups.compile_pivot(step, bench)
        case _:
            assert_never(step)
