"""Every check owns one bit; masks of 62 bits, so that a BIGINT never turns negative."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.plan.checks import CheckBook, any_error, count_failures, mask_updates, place_of
from lakelogic.plan.expressions import column, is_null
from lakelogic.plan.model import Severity


def book_of(number: int, severity: Severity = "error") -> CheckBook:
    book = CheckBook()
    for index in range(number):
        book.add(exp.true(), name=f"r{index}", message="m", category="c", kind="rule", severity=severity)
    return book


def test_62_checks_fit_in_one_mask_and_the_next_starts_another() -> None:
    assert [book_of(n).mask_count for n in (0, 1, 62, 63, 124, 125)] == [1, 1, 1, 2, 2, 3]


def test_the_place_of_a_check_is_its_mask_and_bit() -> None:
    checks = book_of(130).checks
    assert [place_of(checks[i]) for i in (0, 61, 62, 63, 124, 129)] == [
        (0, 0),
        (0, 61),
        (1, 0),
        (1, 1),
        (2, 0),
        (2, 5),
    ]


def test_no_mask_needs_the_sign_of_a_bigint() -> None:
    book = book_of(62)
    wanted = any_error(book.checks, ["_lakelogic_failed_0"]).sql("databricks")
    assert str(2**62 - 1) in wanted


def test_only_errors_reject() -> None:
    book = book_of(3, "warning")
    assert any_error(book.checks, ["_lakelogic_failed_0"]) == exp.false()
    book.add(exp.true(), name="hard", message="m", category="c", kind="rule")
    assert "& 8" in any_error(book.checks, ["_lakelogic_failed_0"]).sql("databricks")


def test_a_mask_that_is_there_already_keeps_its_bits() -> None:
    failure = CheckBook().add(is_null(column("a")), name="r", message="m", category="c", kind="rule")
    fresh = mask_updates([failure], [])["_lakelogic_failed_0"].sql("databricks")
    later = mask_updates([failure], ["_lakelogic_failed_0"])["_lakelogic_failed_0"].sql("databricks")
    assert fresh == "CAST(CASE WHEN `a` IS NULL THEN 1 ELSE 0 END AS BIGINT)"
    assert later == "(`_lakelogic_failed_0` | CASE WHEN `a` IS NULL THEN 1 ELSE 0 END)"


def test_checks_of_one_name_are_counted_once_per_row() -> None:
    book = book_of(1)
    book.add(exp.true(), name="r0", message="m", category="c", kind="rule_error")
    counted = count_failures(book.checks, [column("_lakelogic_failed_0")])
    assert [observation.name for observation in counted] == ["failed:r0"]
    assert " OR " in counted[0].aggregate.sql("databricks")
