"""`lakelogic doctor`: what is there, what is missing, how to get it. Starts nothing."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic.cli.options import Debug, Engine, EngineName, Output, OutputFormat, Quiet
from lakelogic.cli.render import print_json, print_table, say

if TYPE_CHECKING:
    from lakelogic.onboard.examine import Finding

EXIT_NOT_READY = 4
_MARKS = {"ok": "ok", "missing": "MISSING", "optional": "not there", "warning": "note"}


def doctor_command(
    engine: Engine = None,
    capabilities: Annotated[bool, typer.Option("--capabilities", help="What each engine cannot do.")] = False,
    output: Output = OutputFormat.TABLE,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Say what is installed, what is missing and how to get it. Starts no engine.

    Exit code 4 where the engine in question (--engine, LAKELOGIC_ENGINE, else spark) cannot run.

    \b
    Examples:
      lakelogic doctor
      lakelogic doctor --engine duckdb --output json
      lakelogic doctor --capabilities
    """
    if capabilities:
        _print_gaps(engine, output)
        return
    from lakelogic.core.settings import read_settings
    from lakelogic.onboard.examine import examine

    settings = read_settings(os.environ)
    wanted = engine.value if engine else settings.engine or EngineName.SPARK.value
    findings = examine(settings, os.environ, engine=wanted, python=sys.version_info[:3])
    missing = [finding for finding in findings if finding.state == "missing"]
    if output is OutputFormat.JSON:
        print_json({"engine": wanted, "ready": not missing, "findings": [f.to_dict() for f in findings]})
    elif not quiet:
        rows = [(finding.name, _MARKS[finding.state], finding.detail) for finding in findings]
        print_table(("what", "state", "detail"), rows)
    _give_hints(findings, missing, wanted, quiet=quiet)
    if missing:
        raise typer.Exit(EXIT_NOT_READY)


def _print_gaps(engine: EngineName | None, output: OutputFormat) -> None:
    from lakelogic.engine.capabilities import GAPS

    asked = {name: gaps for name, gaps in GAPS.items() if engine is None or engine.value == name}
    if output is OutputFormat.JSON:
        print_json({"cannot": {name: list(gaps) for name, gaps in asked.items()}})
        return
    rows = [(name, gap) for name, gaps in asked.items() for gap in gaps or ("-",)]
    print_table(("engine", "cannot"), rows)


def _give_hints(findings: tuple[Finding, ...], missing: list[Finding], wanted: str, *, quiet: bool) -> None:
    for finding in missing if quiet else findings:
        if finding.hint and finding.state != "ok":
            say(f"{finding.name}: {finding.hint}")
    if missing:
        say(f"not ready to run contracts on {wanted}")
    elif not quiet:
        say(f"ready to run contracts on {wanted}")
