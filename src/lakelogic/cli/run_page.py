"""One run of the log, in full, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from lakelogic.cli.render import print_heading, print_table, print_text, show_cell
from lakelogic.cli.summary import print_events, print_ledger, tell_counts

_RULES = ("rule", "category", "severity", "phase", "failed", "of", "ratio")
_BOUNDED = ("value", "at least", "at most", "passed")


def print_run(run: Mapping[str, Any]) -> None:
    """Header, error, rows, ledger, rules, gates and events of one run."""
    print_heading(f"{run['dataset']}: {run['status']}  (run {run['run_id']})")
    for name, value in _facts(run):
        print_text(f"{name:<12}{value}")
    _print_error(run["error"])
    for attempt in run["earlier_attempts"]:
        why = f": {attempt['error']['code']} {attempt['error']['message']}" if attempt["error"] else ""
        print_text(f"an earlier attempt at this run {attempt['status']}{why}")
    if run["ledger"]:
        print_text(tell_counts(run))
        print_ledger(run)
    if run["rules"]:
        rows = [_rule_cells(rule) for rule in run["rules"]]
        print_table(_RULES, rows, title="Rules", right="failed of ratio")
    for title, key in (("Dataset rules", "dataset_rules"), ("Gates", "gates")):
        if run[key]:
            print_table((title.lower()[:-1], *_BOUNDED), [_bounded_cells(rule) for rule in run[key]], title=title)
    print_events(run)


def _facts(run: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    window, source = run["window"], run["source"]
    if window:
        yield "window", f"{_moment(window['start'])} to {_moment(window['end'])} (days of {window['zone']})"
    times = f"{_moment(run['started_at'])} to {_moment(run['finished_at'])}"
    yield "time", f"{times}, {run['duration_s']:.1f} s"
    yield "by", "; ".join(_versions(run))
    if source["path"]:
        yield "source", source["path"] + (f" ({source['slice']})" if source["slice"] else "")
    for pack in run["policy_packs"]:
        yield "pack", f"{pack['name']} ({pack['file']}, {pack['digest']})"
    if run["reason"]:
        yield "reason", run["reason"]
    for what, value in (("digest", run["digest"]), ("approved by", run["approved_by"])):
        if value:
            yield what, value
    for name in ("target", "quarantine"):
        if run[name]["version"] is not None:
            yield name, f"{run[name]['path']} (version {run[name]['version']})"
    if run["changes"]:
        yield "rows", ", ".join(f"{number} {what}" for what, number in run["changes"].items())


def _versions(run: Mapping[str, Any]) -> Iterator[str]:
    """Runs of earlier versions do not know all of them."""
    yield " ".join(show_cell(run[name]) for name in ("engine", "engine_version"))
    yield f"lakelogic {show_cell(run['lakelogic_version'])}"
    yield f"contract {show_cell(run['contract_version'])}"


def _print_error(error: Mapping[str, Any] | None) -> None:
    if error is None:
        return
    where = f"{error['place']}: " if error["place"] else ""
    print_text(f"{'error':<12}{where}{error['code']} {error['message']}")
    if error["hint"]:
        print_text(f"{'hint':<12}{error['hint']}")


def _rule_cells(rule: Mapping[str, Any]) -> list[object]:
    ratio = f"{rule['ratio']:.1%}" if rule["ratio"] is not None else None
    names = ("name", "category", "severity", "phase", "failed", "judged")
    return [*(rule[name] for name in names), ratio]


def _bounded_cells(rule: Mapping[str, Any]) -> list[object]:
    passed = "not evaluated" if rule["evaluated"] is False else {True: "yes", False: "no"}.get(rule["passed"])
    return [rule["name"], rule["value"], rule["minimum"], rule["maximum"], passed]


def _moment(text: str | None) -> str:
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S}Z" if text else "·"
