"""A pipeline run as JUnit XML, which build servers show as tests: one for each contract."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from lakelogic.core.errors import Problem
from lakelogic.core.pipeline_run import GOOD, INTERRUPTED, ContractRun, PipelineRun, told_time

# XML 1.0 has no way to say these, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(run: PipelineRun) -> bytes:
    """The report; a contract that was held back is a skipped test."""
    failures = sum(each.status not in GOOD and each.status != "skipped" for each in run.contracts) + len(run.problems)
    numbers = {
        "tests": str(len(run.contracts) + len(run.problems)),
        "failures": str(failures),
        "errors": "0",
        "skipped": str(run.count("skipped")),
        "time": f"{run.duration_s:.3f}",
    }
    root = Xml.Element("testsuites", {"name": "lakelogic", **numbers})
    suite = Xml.SubElement(root, "testsuite", {"name": "pipeline", "timestamp": _time(run), **numbers})
    properties = Xml.SubElement(suite, "properties")
    for name, value in (("run_id", run.run_id), ("status", run.status), ("version", run.version or "")):
        Xml.SubElement(properties, "property", {"name": name, "value": value})
    for contract in run.contracts:
        _add_contract(suite, contract)
    for problem in run.problems:
        _add_problem(suite, problem)
    Xml.indent(root)
    return bytes(Xml.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _add_contract(suite: Xml.Element, contract: ContractRun) -> None:
    parts = [part for part in (contract.domain, contract.layer) if part]
    case = Xml.SubElement(
        suite,
        "testcase",
        {
            "classname": _clean(".".join(parts) or "contracts"),
            "name": _clean(contract.dataset),
            "time": f"{contract.duration_s or 0:.3f}",
        },
    )
    if contract.place is not None:
        case.set("file", _clean(contract.place.file))
        case.set("line", str(contract.place.line))
    if contract.status == "skipped":
        Xml.SubElement(case, "skipped", {"message": _clean(contract.reason or "")})
    elif contract.status not in GOOD:
        kind = contract.problem.code if contract.problem else contract.status
        told = _tell(contract.problem) if contract.problem else contract.reason or contract.status
        failure = Xml.SubElement(case, "failure", {"type": kind, "message": _clean(contract.reason or INTERRUPTED)})
        failure.text = _clean(told)
    out = Xml.SubElement(case, "system-out")
    out.text = _clean(_story(contract))


def _add_problem(suite: Xml.Element, problem: Problem) -> None:
    where = problem.place.file if problem.place else "contracts"
    case = Xml.SubElement(suite, "testcase", {"classname": "validation", "name": _clean(where), "time": "0"})
    failure = Xml.SubElement(case, "failure", {"type": problem.code, "message": _clean(problem.message)})
    failure.text = _clean(_tell(problem))


def _story(contract: ContractRun) -> str:
    rows = contract.rows
    lines = [f"{contract.status}: read {rows.read}, accepted {rows.accepted}, quarantined {rows.quarantined}"]
    lines += [f"rule {name}: {failed} rows failed" for name, failed in contract.failed_rules]
    lines += [f"run {run_id}" for run_id in contract.run_ids]
    return "\n".join(lines)


def _tell(problem: Problem) -> str:
    return str(problem)


def _time(run: PipelineRun) -> str:
    # The schema of the format has no room for a zone; UTC is what most tools take it for.
    return (told_time(run.started_at) or "").partition(".")[0]


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
