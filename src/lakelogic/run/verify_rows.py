"""The comparison of what engines came to: numbers and rules of the runs, then the rows of both tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lakelogic.contract.contract import Contract
from lakelogic.core.keys import derive_keys
from lakelogic.core.settings import Settings
from lakelogic.plan.lineage import RUN_ID
from lakelogic.run.certificate import Difference, EngineRun, ShownPair
from lakelogic.run.result import RunResult

if TYPE_CHECKING:
    from lakelogic.engine.duckdb.compare import BagDifference, Comparing, TableComparer


@dataclass(frozen=True, slots=True)
class Compared:
    """How many rows of each table were compared, and what differs."""

    rows: Mapping[str, int]
    differences: tuple[Difference, ...]


def compare_runs(contract: Contract, runs: Sequence[EngineRun], settings: Settings, shown: int) -> Compared:
    """Compare every run with the first; what is equal to it is equal among itself."""
    from lakelogic.engine.duckdb.compare import TableComparer

    if len(runs) < 2:
        return Compared({}, ())
    comparer = TableComparer(derive_keys(settings.pii_key.reveal() if settings.pii_key else None))
    counted: dict[str, int] = {}
    differences: list[Difference] = []
    try:
        for other in runs[1:]:
            differences += _compare_facts(runs[0], other)
            for table, found in _compare_tables(comparer, contract, runs[0], other, shown):
                counted[table] = found.rows[0]
                differences += _table_differences(table, found, runs[0], other)
    finally:
        comparer.close()
    return Compared(counted, tuple(differences))


def _compare_facts(first: EngineRun, other: EngineRun) -> Iterator[Difference]:
    assert first.result is not None and other.result is not None
    left, right = _facts(first.result), _facts(other.result)
    for name, value in left.items():
        if not _equal(value, right[name]):
            yield Difference(name, first.engine, other.engine, *_only_differing(value, right[name]))


def _facts(result: RunResult) -> dict[str, Any]:
    steps = ("rows_in", "rows_out", "removed", "added", "quarantined")
    return {
        "status": result.status,
        "counts": asdict(result.counts),
        "ledger": {
            f"{number} {step.step}": {name: getattr(step, name) for name in steps}
            for number, step in enumerate(result.ledger, start=1)
        },
        "rules": {rule.name: rule.failed for rule in result.rules},
        "dataset rules": {rule.name: [rule.passed, rule.value] for rule in result.dataset_rules},
        "changes": asdict(result.changes) if result.changes else {},
        "events": sorted(event.kind for event in result.events),
    }


def _equal(left: Any, right: Any) -> bool:
    """Engines add floating numbers in their own order, so that the last digits of an aggregate say nothing."""
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9) or (math.isnan(left) and math.isnan(right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(value, right[name]) for name, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return bool(left == right)


def _only_differing(left: Any, right: Any) -> tuple[Any, Any]:
    if not isinstance(left, dict) or not isinstance(right, dict):
        return left, right
    names = [name for name in {**left, **right} if not _equal(left.get(name), right.get(name))]
    return {n: left[n] for n in names if n in left}, {n: right[n] for n in names if n in right}


def _compare_tables(
    comparer: TableComparer, contract: Contract, first: EngineRun, other: EngineRun, shown: int
) -> Iterator[tuple[str, BagDifference]]:
    for table, left, right in (
        ("target", first.target, other.target),
        ("quarantine", first.quarantine, other.quarantine),
    ):
        how = _comparing(contract, table, shown)
        yield table, comparer.compare(left, right, how)


def _comparing(contract: Contract, table: str, shown: int) -> Comparing:
    from lakelogic.engine.duckdb.compare import Comparing

    run_id = RUN_ID if table == "quarantine" else contract.lineage.columns.get(RUN_ID, RUN_ID)
    keys = contract.primary_key if table == "target" else ()
    return Comparing(frozenset({run_id}), _visible(contract), keys, shown)


def _visible(contract: Contract) -> frozenset[str] | None:
    """Where a contract has personal data, a column that it does not declare may hold it too."""
    if not any(field.pii or field.masking for field in contract.fields):
        return None
    return frozenset(field.name for field in contract.fields if not field.pii and field.masking is None)


def _table_differences(table: str, found: BagDifference, first: EngineRun, other: EngineRun) -> Iterator[Difference]:
    if found.columns is not None:
        left, right = found.columns
        yield Difference(f"{table} columns", first.engine, other.engine, list(left), list(right))
    elif not found.equal:
        pairs = tuple(ShownPair(pair.left, pair.right, pair.differing) for pair in found.pairs)
        counts = (f"{found.only_left} of {found.rows[0]} rows", f"{found.only_right} of {found.rows[1]} rows")
        yield Difference(f"{table} rows", first.engine, other.engine, *counts, pairs)
