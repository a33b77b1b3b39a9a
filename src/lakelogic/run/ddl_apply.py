"""`ddl --apply`: the statements carried out, all of them or none."""

from __future__ import annotations

from dataclasses import replace

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import CapabilityError
from lakelogic.core.settings import Settings
from lakelogic.run.ddl import DdlReport, Statement, plan_ddl
from lakelogic.run.hold import OpenSpark, hold, locate, require_target
from lakelogic.run.places import Places
from lakelogic.table.alter import apply_change, needs_spark
from lakelogic.table.delta_spark import register_table
from lakelogic.table.facts import find_facts
from lakelogic.table.protocol import TableLocation
from lakelogic.table.spark_views import create_view, grant, keeps_views

NO_CATALOG = "is only printed: there is no catalog that would keep it"


def apply_ddl(contract: Contract, settings: Settings, open_spark: OpenSpark, *, wait_s: float = 0) -> DdlReport:
    """Make the tables as the contract wants them; with a single refusal nothing is changed.

    Each change is one commit. A process that is killed in between leaves fewer differences, and the next one
    makes the rest.
    """
    places = locate(contract, settings, open_spark)
    with hold(contract, places, wait_s=wait_s):
        report = plan_ddl(contract, settings, places)
        if report.refused:
            return report
        if open_spark is None:
            _refuse_without_spark(report, contract, places)
        statements = tuple(_apply(statement, contract, places, open_spark) for statement in report.statements)
        _register(contract, places, open_spark)
        statements, notes = _apply_views(statements, contract, places, open_spark)
    return replace(report, statements=statements, notes=(*report.notes, *notes))


def _refuse_without_spark(report: DdlReport, contract: Contract, places: Places) -> None:
    """Before the first change, so that nothing stops half-way."""
    for statement in report.statements:
        path = _location(statement, contract, places).path
        if statement.change is not None and needs_spark(statement.change, path):
            raise CapabilityError(
                f"only Spark can do this: {statement.sql.splitlines()[0]}", hint="run it with --engine spark"
            )


def _location(statement: Statement, contract: Contract, places: Places) -> TableLocation:
    target, quarantine = require_target(contract, places)
    return quarantine if statement.table == "quarantine" else target


def _apply(statement: Statement, contract: Contract, places: Places, open_spark: OpenSpark) -> Statement:
    if statement.change is None:
        return statement
    apply_change(statement.change, _location(statement, contract, places), open_spark)
    return replace(statement, applied=True)


def _register(contract: Contract, places: Places, open_spark: OpenSpark) -> None:
    for location in require_target(contract, places):
        if open_spark is not None and location.catalog_name is not None and find_facts(location.path) is not None:
            register_table(open_spark(), location)


def _apply_views(
    statements: tuple[Statement, ...], contract: Contract, places: Places, open_spark: OpenSpark
) -> tuple[tuple[Statement, ...], list[str]]:
    target, _ = require_target(contract, places)
    views = dict.fromkeys(statement.table for statement in statements if statement.change is None)
    if not views:
        return statements, []
    if open_spark is None or target.catalog_name is None or not keeps_views(open_spark(), target):
        return statements, [f"view `{name}` {NO_CATALOG}" for name in views]
    spark = open_spark()
    done, notes = [], []
    for statement in statements:
        if statement.change is not None:
            done.append(statement)
        elif statement.sql.startswith("GRANT "):
            granted = grant(spark, statement.sql)
            notes += [] if granted else [f"the catalog takes no GRANT; give the right yourself: {statement.sql}"]
            done.append(replace(statement, applied=granted))
        else:
            create_view(spark, statement.sql)
            done.append(replace(statement, applied=True))
    return tuple(done), notes
