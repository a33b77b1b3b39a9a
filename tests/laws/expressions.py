"""Expressions of Spark SQL by chance, typed, over eight columns; and rows with naughty values for them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

TYPES = {
    "i": "int", "l": "long", "d": "double", "c": "decimal(10,2)", "s": "string", "b": "boolean", "dt": "date",
    "t": "timestamp",
}  # fmt: skip
_TEXTS = [
    "a",
    "B",
    "ß",
    "İ",
    "é",
    "😀x",
    "a%b_c",
    "  x ",
    "\t",
    "'",
    "1",
    "-0",
    "1e3",
    "nan",
    "2026-02-30",
    "x,y",
    "0x1A",
]
VALUES = {
    "i": ["0", "1", "-1", "7", " 5 ", "+3", "2147483647", "-2147483648", "2147483648", "1.0", "x", "", "٣"],
    "l": ["0", "3", "-9", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "4.7", ""],
    "d": ["0", "-0.0", "1.5", "-2.25", "1e308", "1e-5", "12345678.9", "0.1", "1e400", "NaN", "inf", "x", "", "7"],
    "c": ["0", "1.005", "-1.005", "99999999.99", "99999999.995", "12.3", ".5", "1e2", "abc", ""],
    "s": [*_TEXTS, ""],
    "b": ["true", "F", "yes", "0", " n ", "on", ""],
    "dt": ["2026-02-28", "2024-02-29", "1970-01-01", "2026-2-3", "2026", "2026-02-30", "1582-10-15", "x", ""],
    "t": ["2026-02-03 10:11:12", "2026-02-03T23:59:59.999999Z", "2026-02-03 10:11:12 +02:00", "1969-12-31 23:59:59.5",
          "2026-02-03 24:00:00", "2026-12-31", ""],
}  # fmt: skip


class Expressions:
    """Makes expressions of a type, a few levels deep."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def of(self, kind: str, depth: int = 2) -> str:
        makers: dict[str, Callable[[int], str]] = {
            "whole": self._whole, "number": self._number, "decimal": self._decimal, "text": self._text,
            "boolean": self._boolean, "date": self._date, "moment": self._moment,
        }  # fmt: skip
        return makers[kind](depth)

    def _one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def _whole(self, depth: int) -> str:
        if depth <= 0:
            return self._one("i", "l", "0", "1", "-7", "3", "i", "l")
        w, t, d, b = (lambda: self._whole(depth - 1)), self._text, self._date, self._boolean
        return self._one(
            f"({w()} + {w()})", f"({w()} - {w()})", f"({w()} * {w()})", f"({w()} % {w()})", f"({w()} DIV {w()})",
            f"abs({w()})", f"coalesce({w()}, {w()})", f"nullif({w()}, {w()})", f"greatest({w()}, {w()})",
            f"length({t(depth - 1)})", f"year({d(depth - 1)})", f"datediff({d(depth - 1)}, {d(depth - 1)})",
            f"CASE WHEN {b(depth - 1)} THEN {w()} ELSE {w()} END", f"CAST({t(depth - 1)} AS INT)",
            f"month({d(depth - 1)})", f"dayofweek({d(depth - 1)})", f"instr({t(depth - 1)}, 'a')",
            f"pmod({w()}, 3)", f"hour({self._moment(depth - 1)})", f"CAST({self._decimal(depth - 1)} AS BIGINT)",
        )  # fmt: skip

    def _decimal(self, depth: int) -> str:
        if depth <= 0:
            return self._one("c", "1.5", "-0.05", "c", "c")
        x = lambda: self._decimal(depth - 1)  # noqa: E731
        return self._one(
            f"({x()} + {x()})", f"({x()} - {x()})", f"({x()} / {x()})", f"round({x()}, 1)", f"({x()} * {x()})",
            f"abs({x()})", f"coalesce({x()}, {x()})", f"CAST({self._text(depth - 1)} AS DECIMAL(12,3))",
            f"({x()} + {self._whole(0)})", f"CAST({self._whole(depth - 1)} AS DECIMAL(20,2))", f"({x()} % {x()})",
        )  # fmt: skip

    def _number(self, depth: int) -> str:
        if depth <= 0:
            return self._one("d", "CAST(0.5 AS DOUBLE)", "d", "1e0")
        x = lambda: self._number(depth - 1)  # noqa: E731
        return self._one(
            f"({x()} + {x()})", f"({x()} - {x()})", f"({x()} * {x()})", f"({x()} / {x()})", f"round({x()}, 2)",
            f"({self._whole(depth - 1)} / {self._whole(depth - 1)})", f"coalesce({x()}, {x()})", f"least({x()}, {x()})",
            f"CAST({self._text(depth - 1)} AS DOUBLE)", f"CAST({self._decimal(depth - 1)} AS DOUBLE)",
            f"greatest({x()}, {x()})", f"CASE WHEN {self._boolean(depth - 1)} THEN {x()} END",
        )  # fmt: skip

    def _text(self, depth: int) -> str:
        if depth <= 0:
            return self._one("s", "s", "'a'", "''", "'É '", "'x_%'")
        t = lambda: self._text(depth - 1)  # noqa: E731
        n = self.random.randint(-3, 4)
        return self._one(
            f"upper({t()})", f"lower({t()})", f"trim({t()})", f"substring({t()}, {n}, 2)", f"concat({t()}, {t()})",
            f"({t()} || {t()})", f"replace({t()}, 'a', 'bb')", f"lpad({t()}, 4, '0')", f"initcap({t()})",
            f"coalesce({t()}, {t()})", f"CAST({self._whole(depth - 1)} AS STRING)", f"reverse({t()})",
            f"CAST({self._boolean(depth - 1)} AS STRING)", f"CAST({self._date(depth - 1)} AS STRING)",
            f"CAST({self._moment(depth - 1)} AS STRING)", f"CAST({self._decimal(depth - 1)} AS STRING)",
            f"regexp_replace({t()}, '[0-9]+', '#')", f"left({t()}, {n})", f"right({t()}, 2)", f"md5({t()})",
            f"concat_ws('-', {t()}, {t()})", f"regexp_extract({t()}, '([a-z]+)', 1)",
            f"date_format({self._moment(depth - 1)}, 'dd/MM/yyyy HH:mm')", f"CAST({self._number(depth - 1)} AS STRING)",
            f"CASE WHEN {self._boolean(depth - 1)} THEN {t()} ELSE {t()} END",
        )  # fmt: skip

    def _date(self, depth: int) -> str:
        if depth <= 0:
            return self._one("dt", "dt", "DATE'2024-02-29'")
        x = lambda: self._date(depth - 1)  # noqa: E731
        return self._one(
            f"date_add({x()}, {self.random.randint(-40, 40)})", f"last_day({x()})", f"trunc({x()}, 'MM')",
            f"add_months({x()}, {self.random.randint(-14, 14)})", f"CAST({self._text(depth - 1)} AS DATE)",
            f"CAST({self._moment(depth - 1)} AS DATE)", f"coalesce({x()}, {x()})", f"({x()} + INTERVAL 3 DAYS)",
        )  # fmt: skip

    def _moment(self, depth: int) -> str:
        if depth <= 0:
            return self._one("t", "t", "TIMESTAMP'2026-02-03 10:11:12.5'")
        x = lambda: self._moment(depth - 1)  # noqa: E731
        return self._one(
            f"date_trunc('{self._one('day', 'month', 'hour')}', {x()})", f"CAST({self._date(depth - 1)} AS TIMESTAMP)",
            f"({x()} - INTERVAL 90 MINUTES)", f"coalesce({x()}, {x()})", f"CAST({self._text(depth - 1)} AS TIMESTAMP)",
        )  # fmt: skip

    def _boolean(self, depth: int) -> str:
        if depth <= 0:
            return self._one("b", "TRUE", "b", "i > 0", "s IS NULL")
        kind = self._one("whole", "number", "decimal", "text", "date", "moment")
        left, right = self.of(kind, depth - 1), self.of(kind, depth - 1)
        b, t = (lambda: self._boolean(depth - 1)), (lambda: self._text(depth - 1))
        sign = self._one("=", "<>", "<", "<=", ">", ">=", "<=>")
        return self._one(
            f"({left} {sign} {right})", f"({left} {sign} {right})", f"({b()} AND {b()})", f"({b()} OR {b()})",
            f"(NOT {b()})", f"({left} IS NULL)", f"({left} BETWEEN {right} AND {right})", f"({left} IN ({right}))",
            f"({t()} LIKE '%a%')", f"({t()} NOT LIKE 'a_%')", f"({t()} RLIKE '^[a-z]+$')", f"startswith({t()}, 'a')",
        )  # fmt: skip


def make_rows(random: Random, count: int) -> list[dict[str, str]]:
    return [{name: random.choice(VALUES[name]) for name in TYPES} for _ in range(count)]
