"""The book of checks: every way in which a row can fail owns one bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from lakelogic.plan.expressions import any_of, bit, bitwise_or, case, column, function, number
from lakelogic.plan.model import (
    CHECKS_PER_MASK,
    FAILED_COLUMN,
    FLAG_SEVERITY,
    Check,
    CheckKind,
    Observation,
    Phase,
    Severity,
)
from lakelogic.plan.types import named

# Rows that fail a rule can be kept: they are whole and typed. A row that is not, or has no key, cannot.
_FLAGGED = frozenset({"rule", "rule_error"})


@dataclass(frozen=True, slots=True)
class Failure:
    """A check and the condition under which a row fails it."""

    check: Check
    condition: exp.Expr


@dataclass(slots=True)
class CheckBook:
    """Hands out bits; one book per stage."""

    checks: list[Check] = field(default_factory=list)
    flags: bool = False  # rows that fail a rule are kept and marked
    phase: Phase = "pre"  # of the checks to come
    rejects: bool = True  # False: every row is kept, whatever it fails (raw Bronze)

    def add(
        self,
        condition: exp.Expr,
        *,
        name: str,
        message: str,
        category: str,
        kind: CheckKind,
        severity: Severity = "error",
        column: str | None = None,
        wanted_type: str | None = None,
        shows_value: bool = False,
    ) -> Failure:
        if self.flags and severity == "error" and (kind in _FLAGGED or not self.rejects):
            severity = FLAG_SEVERITY
        elif severity == "error" and not self.rejects:
            severity = "warning"
        check = Check(
            len(self.checks),
            name,
            message,
            category,
            kind,
            severity,
            column,
            wanted_type,
            shows_value,
            self.phase,
        )
        self.checks.append(check)
        return Failure(check, condition)

    @property
    def mask_count(self) -> int:
        return max(1, -(-len(self.checks) // CHECKS_PER_MASK))


def mask_name(index: int) -> str:
    return f"{FAILED_COLUMN}{index}"


def place_of(check: Check) -> tuple[int, int]:
    """Which mask a check is in, and which bit of it."""
    return divmod(check.bit, CHECKS_PER_MASK)


def mask_updates(
    failures: Sequence[Failure], existing: Sequence[str], unless: exp.Expr | None = None
) -> dict[str, exp.Expr]:
    """New values of the masks that these failures touch; masks that are not there yet start at zero.

    Rows for which `unless` holds are not judged: a line that could not be split has no values to speak of.
    """
    grouped: dict[int, list[exp.Expr]] = {}
    for failure in failures:
        index, position = place_of(failure.check)
        grouped.setdefault(index, []).append(case([(failure.condition, bit(position))], number(0)))
    updates: dict[str, exp.Expr] = {}
    for index, terms in grouped.items():
        name = mask_name(index)
        if unless is not None:
            terms = [case([(unless.copy(), number(0))], bitwise_or(terms))]
        before: list[exp.Expr] = [column(name)] if name in existing else []
        whole = bitwise_or([*before, *terms])
        updates[name] = whole if before else exp.Cast(this=whole, to=named("bigint"))
    return updates


def has_failed(check: Check, mask: exp.Expr) -> exp.Expr:
    _, position = place_of(check)
    tested = exp.paren(exp.BitwiseAnd(this=mask, expression=bit(position)), copy=False)
    return exp.NEQ(this=tested, expression=number(0))


def any_error(checks: Sequence[Check], masks: Sequence[str]) -> exp.Expr:
    """True when a row failed any check that rejects; warnings and notes do not."""
    conditions = []
    for index, name in enumerate(masks):
        bits = [place_of(c)[1] for c in checks if place_of(c)[0] == index and c.severity == "error"]
        if bits:
            wanted = exp.Literal.number(str(sum(1 << position for position in bits)))
            tested = exp.paren(exp.BitwiseAnd(this=column(name), expression=wanted), copy=False)
            conditions.append(exp.NEQ(this=tested, expression=number(0)))
    return any_of(conditions)


def count_failures(checks: Sequence[Check], masks: Sequence[exp.Expr]) -> tuple[Observation, ...]:
    """How many rows failed each check; checks that share a name are counted together."""
    named: dict[str, list[Check]] = {}
    for check in checks:
        named.setdefault(check.name, []).append(check)
    observations = []
    for name, group in named.items():
        failed = any_of([has_failed(check, masks[place_of(check)[0]].copy()) for check in group])
        observations.append(Observation(f"failed:{name}", function("SUM", case([(failed, number(1))], number(0)))))
    return tuple(observations)
