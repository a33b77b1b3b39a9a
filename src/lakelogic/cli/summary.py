"""A run as a person reads it: rows, ledger, rules, places, times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakelogic.cli.render import print_heading, print_table, print_text

SHOWN_ROWS = 20
# What a person wants first of a rejected row; the rest of our columns is for machines.
_REASONS = ("_lakelogic_errors", "_lakelogic_categories", "_lakelogic_record")
_OURS = "_lakelogic_"
_LEDGER = ("step", "rows_in", "rows_out", "removed", "added", "quarantined")


def print_summary(result: Mapping[str, Any]) -> None:
    """Counts, ledger, failed rules and places of one run."""
    print_heading(f"{result['dataset']}: {result['status']}  (run {result['run_id']}, {result['duration_s']:.1f} s)")
    if result.get("reason"):
        print_text(f"reason: {result['reason']}")
    print_text(tell_counts(result))
    if result.get("changes"):
        print_text("target rows: " + ", ".join(f"{number} {what}" for what, number in result["changes"].items()))
    if result["ledger"]:
        print_ledger(result)
    failed = [(rule["name"], rule["failed"]) for rule in result["rules"] if rule["failed"]]
    if failed:
        print_table(("rule", "failed"), failed, title="Rules", right="failed")
    print_events(result)
    for name in ("target", "quarantine"):
        place = result[name]
        if place and place.get("version") is not None:
            print_text(f"{name}: {place['path']} (version {place['version']})")


def tell_counts(result: Mapping[str, Any]) -> str:
    """What became of the rows that were read."""
    counts = result["counts"]
    told = f"read {counts['read']} = accepted {counts['accepted']} + quarantined {counts['quarantined']}"
    return told + _declared(result["ledger"])


def print_ledger(result: Mapping[str, Any]) -> None:
    rows = [[line[column] for column in _LEDGER] for line in result["ledger"]]
    print_table(_LEDGER, rows, title="Ledger", right=" ".join(_LEDGER[1:]))


def print_events(result: Mapping[str, Any]) -> None:
    for event in result.get("events", ()):
        print_text(f"{event['severity']}: {event['message']}")


def _declared(ledger: list[Mapping[str, Any]]) -> str:
    """What declared steps took away or added; reading only leaves out lines without a row, like headers."""
    steps = [line for line in ledger if line["step"] != "read"]
    removed = sum(line["removed"] for line in steps)
    added = sum(line["added"] for line in steps)
    took = f" + removed by steps {removed}" if removed else ""
    return took + (f" - added by steps {added}" if added else "")


def print_rows(result: Mapping[str, Any]) -> None:
    """The first rows that this run published, and the first that it rejected, with reasons."""
    from lakelogic.table.sample import read_sample

    for name, title in (("target", "Good rows"), ("quarantine", "Quarantine")):
        place = result[name]
        if not place or place.get("version") is None:
            continue
        sample = read_sample(place["path"], place["version"], run_id=result["run_id"], limit=SHOWN_ROWS)
        columns = _shown(sample.columns, sample.rows)
        rows = [[row[column] for column in columns] for row in sample.rows]
        if rows:
            print_table(columns, rows, title=f"{title} ({place['path']})")


def _shown(columns: tuple[str, ...], rows: tuple[Mapping[str, Any], ...]) -> list[str]:
    """The author's columns, then those of ours that give reasons and are not empty everywhere."""
    own = [column for column in columns if not column.startswith(_OURS)]
    return own + [column for column in _REASONS if column in columns and any(row[column] is not None for row in rows)]


def print_seconds(seconds: Mapping[str, float]) -> None:
    """Where the time went."""
    total = sum(seconds.values()) or 1.0
    rows = [(phase, f"{spent:.2f}", f"{spent / total:.0%}") for phase, spent in seconds.items()]
    print_table(("phase", "seconds", "share"), rows, title="Where the time went", right="seconds share")
