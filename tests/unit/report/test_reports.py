"""Reports for build servers: valid, escaped, and at the place of the mistake."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from tests.unit.observe.runs import BEGAN, ODD, sample_run

from lakelogic.core.errors import Place, Problem
from lakelogic.core.pipeline_run import PipelineRun
from lakelogic.report.github import render_github
from lakelogic.report.junit import render_junit


@pytest.fixture
def run() -> PipelineRun:
    return sample_run()


def test_junit_has_a_test_for_each_contract(run: PipelineRun) -> None:
    suite = Xml.fromstring(render_junit(run)).find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "4", "failures": "2", "errors": "0", "skipped": "1", "time": "6.000",
    }  # fmt: skip
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert cases["bronze_orders"].get("classname") == "sales.bronze"
    assert cases["bronze_orders"].find("failure") is None
    out = cases["bronze_orders"].findtext("system-out")
    assert out == "succeeded: read 10, accepted 8, quarantined 2\nrule positive: 2 rows failed\nrun r1\nrun r2"
    failure = cases[ODD].find("failure")
    assert failure is not None and failure.get("type") == "LL441"
    assert failure.get("message") == "no disk? left"
    assert failure.text == "c/odd.yaml:7:3: LL441 no disk left\n    hint: make room: 100%"
    skipped = cases["gold_orders"].find("skipped")
    assert skipped is not None and skipped.get("message") == "upstream failed"


def test_github_shows_what_did_not_end_well_where_it_stands(run: PipelineRun) -> None:
    lines = render_github(run, Path()).splitlines()
    assert lines == [
        '::error file=c/odd.yaml,line=7,col=3,title=sil"ver\\odd%0Aname%2C|#%3A100%25%3A failed'
        "::LL441 no disk left%0Ahint: make room: 100%25",
        "::warning title=gold_orders%3A skipped::upstream failed",
        "::error title=ref_codes%3A running::",
    ]


def test_mistakes_that_were_found_first_are_told_too(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "contracts" / "a,b.yaml"), 3, 5)
    problem = Problem("LL172", "no contract is of dataset `x`", place, "add it")
    refused = PipelineRun("p2", "refused", BEGAN, problems=(problem,), exit_code=2)
    assert render_github(refused, tmp_path) == (
        "::error file=contracts/a%2Cb.yaml,line=3,col=5,title=LL172::"
        "LL172 no contract is of dataset `x`%0Ahint: add it\n"
    )
    suite = Xml.fromstring(render_junit(refused)).find("testsuite")
    assert suite is not None and (suite.get("tests"), suite.get("failures")) == ("1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None and failure.get("message") == "no contract is of dataset `x`"
