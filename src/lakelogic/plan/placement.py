"""Values that say where a row belongs, its key and its partition: what is equal must be one value in the table."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot import exp

from lakelogic.contract.contract import Contract
from lakelogic.plan.checks import Failure
from lakelogic.plan.expressions import all_of, case, cast, column, function, number, text
from lakelogic.plan.history import KEYED
from lakelogic.plan.model import Column
from lakelogic.plan.path_columns import NULL_PARTITION
from lakelogic.plan.stage_builder import Output, keep
from lakelogic.plan.types import family, is_floating
from lakelogic.plan.workbench import Workbench

_FOLDER_BYTES = 250  # file systems take names of 255 bytes
_SURELY_FITS = 60  # bytes, all of them escaped


def place_output(found: Column, contract: Contract) -> Output:
    """A column as the target has it.

    A key and a partition have 0.0 in the place of -0.0, which is equal to it. A partition has NULL in the place of the
    texts that folders and Delta's log cannot tell from it.
    """
    target = contract.materialization
    partition_by = target.partition_by if target is not None else ()
    keys = contract.primary_key if target is not None and target.strategy in KEYED else ()
    if is_floating(found.type) and found.name in (*partition_by, *keys):
        is_zero = exp.EQ(this=column(found.name), expression=number(0))
        return Output(found, case([(is_zero, cast(number(0), found.type))], column(found.name)))
    if family(found.type) == "text" and found.name in partition_by:
        return Output(found, function("NULLIF", function("NULLIF", column(found.name), text("")), text(NULL_PARTITION)))
    return keep(found)


def blank_failures(bench: Workbench, names: Sequence[str]) -> list[Failure]:
    """A key that would be NULL as the value of a partition would never be found again."""
    target = bench.contract.materialization
    partition_by = target.partition_by if target is not None else ()
    failures = []
    for name in names:
        found = bench.relation.find(name)
        if found is None or name not in partition_by or family(found.type) != "text":
            continue
        blank = exp.In(this=column(name), expressions=[text(""), text(NULL_PARTITION)])
        words = f"{name} is not blank"
        failures.append(
            bench.builder.book.add(
                exp.Coalesce(this=blank, expressions=[exp.false()]),
                name=words,
                message=f"Rule failed: {words}",
                category="completeness",
                kind="key",
                column=name,
            )
        )
    return failures


def long_failures(bench: Workbench, late: Collection[str], *, post: bool) -> list[Failure]:
    """A partition is a folder, and a name that is too long for one would end the run, this one and all after it."""
    target = bench.contract.materialization
    failures = []
    for name in target.partition_by if target is not None else ():
        found = bench.relation.find(name)
        if found is None or family(found.type) != "text" or (name in late) != post:
            continue
        words = f"{name} fits into the name of a folder"
        failures.append(
            bench.builder.book.add(
                exp.Coalesce(this=_is_long(name), expressions=[exp.false()]),
                name=words,
                message=f"Rule failed: {words}",
                category="validity",
                kind="key",
                column=name,
            )
        )
    return failures


def _is_long(name: str) -> exp.Expr:
    """Bytes that may be escaped in a path take three."""
    size = function("OCTET_LENGTH", column(name))
    plain = function("LENGTH", function("REGEXP_REPLACE", column(name), text("[^A-Za-z0-9_.-]"), text("")))
    thrice, twice = (exp.Mul(this=number(n), expression=part) for n, part in ((3, size.copy()), (2, plain)))
    room = _FOLDER_BYTES - len(name.encode())
    long = exp.GT(this=exp.paren(exp.Sub(this=thrice, expression=twice), copy=False), expression=number(room))
    return all_of([exp.GT(this=size, expression=number(_SURELY_FITS)), long])
