"""A certificate as a person reads it: who ran, what was compared, and the rows that differ side by side."""

from __future__ import annotations

import json
from typing import Any

from lakelogic.cli.render import print_heading, print_table, print_text
from lakelogic.run.certificate import Certificate, Difference, EngineRun, ShownPair

_VERDICTS = {
    "equal": "the engines agree",
    "different": "the engines DIFFER",
    "refused": "not every engine can carry out this contract",
    "not_compared": "nothing was compared: only one engine can carry out this contract",
}


def print_certificate(certificate: Certificate) -> None:
    """Print all that is certified, or all that is not as it should be."""
    print_heading(f"{certificate.dataset} {certificate.version}: {_VERDICTS[certificate.verdict]}")
    print_text(f"contract: {certificate.contract} ({_short(certificate.contract_digest)})")
    print_text(f"input: {certificate.input.described} ({_short(certificate.input.digest)})")
    lines = [_engine_line(run) for run in certificate.runs]
    print_table(
        ("engine", "version", "outcome", "read", "accepted", "quarantined", "seconds"),
        lines,
        right="read accepted quarantined seconds",
    )
    for run in certificate.runs:
        if run.error is not None:
            print_text(f"{run.engine} {run.outcome}: {run.error}")
    if certificate.rows:
        told = ", ".join(f"{number} of the {table}" for table, number in certificate.rows.items())
        print_text(f"compared, from empty tables: rows {told}; columns, ledger, counts, rules, reasons")
    for difference in certificate.differences:
        _print_difference(difference)


def _short(digest: str) -> str:
    kind, _, value = digest.partition(":")
    return f"{kind}:{value[:16]}" if value else "no digest"


def _engine_line(run: EngineRun) -> tuple[object, ...]:
    counts = run.result.counts if run.result is not None else None
    numbers = (counts.read, counts.accepted, counts.quarantined) if counts else (None, None, None)
    return (run.engine, run.version, run.outcome, *numbers, f"{run.seconds:.1f}")


def _print_difference(difference: Difference) -> None:
    left, right = difference.left_engine, difference.right_engine
    print_heading(f"{difference.what} differ between {left} and {right}")
    if not difference.pairs:
        print_text(f"{left}: {_told(difference.left)}\n{right}: {_told(difference.right)}")
        return
    print_text(f"{difference.left} only on {left}, {difference.right} only on {right}; the first of them:")
    for pair in difference.pairs:
        _print_pair(pair, left, right)


def _print_pair(pair: ShownPair, left: str, right: str) -> None:
    names = dict.fromkeys([*(pair.left or {}), *(pair.right or {})])
    lines = [
        ("*" if name in pair.differing else "", name, _cell(pair.left, name), _cell(pair.right, name)) for name in names
    ]
    print_table(("", "column", left, right), lines)


def _cell(row: Any, name: str) -> str:
    if row is None:
        return "(no such row)"
    return "NULL" if row[name] is None else str(row[name])


def _told(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
