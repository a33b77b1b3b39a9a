"""Where rows are judged: the limits of fields and the row rules, all in one projection."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lakelogic.contract.row_rules import RowRule
from lakelogic.plan.checks import Failure, has_failed, mask_name, place_of
from lakelogic.plan.events import spare_deletes
from lakelogic.plan.expressions import all_of, any_of, column, is_not_null, is_null, negate
from lakelogic.plan.history import end_failures, needed_columns
from lakelogic.plan.model import MALFORMED_COLUMN, Check, Phase
from lakelogic.plan.placement import blank_failures, long_failures
from lakelogic.plan.rules import compile_rule, field_failures, rule_columns
from lakelogic.plan.stage_builder import keep
from lakelogic.plan.steps.effects import made_columns
from lakelogic.plan.workbench import Workbench


def judge_rows(bench: Workbench, phase: Phase, *, text: bool) -> None:
    """Mark every row with every check of this phase that it fails."""
    contract = bench.contract
    late = _made_in_post(bench)
    failures: list[Failure] = []
    for index, field in enumerate(contract.fields):
        if (field.name in late) == (phase == "post"):
            with bench.reporting(f"model.fields.{index}"):
                failures += field_failures(field, bench, absent_unless=_failed_cast(bench, field.name))
    needed = [name for name in needed_columns(contract) if (name in late) == (phase == "post")]
    failures += _columns_are_there(bench, needed)
    failures += blank_failures(bench, needed)
    failures += long_failures(bench, late, post=phase == "post")
    failures += end_failures(bench, needed)
    for rule in contract.quality.row_rules:
        if _phase_of(rule, bench, late) == phase:
            failures += compile_rule(rule, bench)
    failures = spare_deletes(bench, failures)
    if failures:
        outputs = [keep(c) for c in bench.relation.columns]
        unless = is_not_null(column(MALFORMED_COLUMN)) if text and MALFORMED_COLUMN in bench.relation.hidden else None
        label = f"check rows ({len(failures)} checks)"
        bench.builder.project(label, outputs, failures=failures, unless=unless)


def _made_in_post(bench: Workbench) -> frozenset[str]:
    made: frozenset[str] = frozenset()
    for step in bench.contract.transformations:
        if step.phase == "post":
            made |= made_columns(step, bench.contract.dialect)
    return made


def _phase_of(rule: RowRule, bench: Workbench, late: frozenset[str]) -> Phase:
    """As declared; else before the post steps, unless the rule speaks of what they make."""
    if "phase" in rule.model_fields_set:
        return rule.phase
    return "post" if rule_columns(rule, bench.contract.dialect) & late else "pre"


def _failed_cast(bench: Workbench, name: str) -> exp.Expr | None:
    """True for rows whose value was there but did not cast: they are not absent."""
    casts = [check for check in bench.builder.book.checks if check.kind == "cast" and check.column == name]
    return any_of([_is_set(check) for check in casts]) if casts else None


def _is_set(check: Check) -> exp.Expr:
    return has_failed(check, column(mask_name(place_of(check)[0])))


def _columns_are_there(bench: Workbench, names: Sequence[str]) -> list[Failure]:
    """A row without a key cannot be merged, one without a time has no place in a history; both are rejected."""
    enforced = bench.contract.quality.enforce_required
    declared = {field.name for field in bench.contract.fields if field.required and enforced}
    failures = []
    for name in names:
        if name in declared or bench.relation.find(name) is None:
            continue
        absent, cast = is_null(column(name)), _failed_cast(bench, name)
        failures.append(
            bench.builder.book.add(
                absent if cast is None else all_of([absent, negate(cast)]),
                name=f"{name} is required",
                message=f"Rule failed: {name} is required",
                category="completeness",
                kind="key",
                column=name,
            )
        )
    return failures
