"""Whole contracts by chance: formats, types, limits of fields, steps of every kind, rules of every kind, strategies.

All engines read the same files at the same place, so that sources and identities of rows are the same too.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import yaml
from tests.laws.expressions import TYPES, VALUES, Expressions

ROWS = 24
_TEXT = ("s", "w")
_JSON = ['{"a": 1, "b": {"c": "x"}}', '{"a": 1.50}', '{"a": null, "b": [1, 2]}', "[1]", "{", '{"b": {"c": "é\\n"}}', ""]
_FITTING = ['{"n": 1, "l": [1.50, null], "s": {"d": "2026-01-31"}}', '{"l": [], "s": null, "more": 1}', "{}", "",
            '{"n": 1, "n": "2"}', '{"s": {"t": "2026-02-03T10:11:12+02:00"}}']  # fmt: skip
_MISFITS = ['{"n": "x"}', '{"l": ["1e400"]}', '{"n": 4.7}', "[]", '{"s": {"d": "2026-02-30"}}', '{"l": 5}', "null",
            '{"n": 1} x', '{"n": 1}]', '{"s": {"t": "10:11:12"}}']  # fmt: skip
_VALUES = {
    **VALUES,
    "k": ["1", "2", "3", "4", " 4", "5", "x", ""],
    "w": ["a,b", "a,,b", "NO", "no", " DE ", "DE", "FR", "", ",", "ß", "x;y"],
    "js": _JSON,
    "ns": [*_FITTING * 8, *_MISFITS],
}
_TYPES = {"k": "int", **TYPES, "w": "string", "js": "string",
          "ns": "struct<n:int,l:array<double>,s:struct<d:date,t:timestamp>>"}  # fmt: skip
_WIDER = {"i": "long", "c": "decimal(18,4)", "dt": "timestamp"}

Step = dict[str, Any]


class WholeContracts:
    """Makes a contract, and the files that it reads."""

    def __init__(self, random: Random) -> None:
        self.random, self.make = random, Expressions(random)
        self.names = list(_TYPES)
        self.format = self._one("csv", "csv", "jsonl", "parquet")

    def write(self, folder: Path, engines: tuple[str, ...]) -> None:
        """The input, the links, and for each engine the same contract with tables of its own."""
        folder.mkdir(parents=True, exist_ok=True)
        contract = self.contract()
        write_rows(folder / f"input.{self.format}", self._rows(ROWS))
        write_rows(folder / "countries.csv", self._countries())
        write_rows(folder / "more.csv", self._rows(4))
        for engine in engines:
            contract["materialization"]["target_path"] = f"{engine}/out"
            text = yaml.safe_dump(contract, sort_keys=False, allow_unicode=True)
            (folder / f"{engine}.yaml").write_text(text, encoding="utf-8")

    def contract(self) -> Step:
        pre = [step for _ in range(self.random.randint(0, 3)) for step in self._cleaning()]
        rules = self._quality()
        post = [step for _ in range(self.random.randint(0, 2)) for step in self._enriching()]
        last, strategy = self._last()
        return {
            "version": "1.0.0",
            "dataset": "rows",
            "source": {"path": f"input.{self.format}"},
            "links": [
                {"name": "countries", "path": "countries.csv"},
                {"name": "more", "path": "more.csv"},
            ],
            "model": {"fields": [self._field(name, type_) for name, type_ in _TYPES.items()]},
            **({"schema_policy": self._one("allow", "quarantine")} if self._rarely() else {}),
            "transformations": [*pre, *post, *last],
            "quality": rules,
            "materialization": strategy,
        }

    def _one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def _rarely(self, chance: float = 0.2) -> bool:
        return self.random.random() < chance

    def _rows(self, count: int) -> list[dict[str, str]]:
        return [{name: self.random.choice(_VALUES[name]) for name in _TYPES} for _ in range(count)]

    def _countries(self) -> list[dict[str, str]]:
        codes = ["DE", "FR", "NO", "no", "", " DE ", "ß"]
        return [{"code": code, "name": self._one("x", "Y", "é", ""), "rank": self._one("1", "2", "")} for code in codes]

    def _field(self, name: str, type_: str) -> Step:
        field: Step = {"name": name, "type": type_}
        limits: dict[str, Callable[[], Step]] = {
            "k": lambda: self._one({"required": True}, {"unique": True}, {"min": 1, "max": 4}),
            "i": lambda: self._one({"min": 0}, {"max": 7}, {"default": 5}, {"accepted_values": [0, 1, 7]}),
            "l": lambda: self._one({"min": -9}, {"required": True}),
            "d": lambda: self._one({"min": 0, "max": 100}, {"default": 1.5}, {"required": True}),
            "c": lambda: self._one({"max": 12.3}, {"default": 0}, {"min": -1.01}),
            "s": lambda: self._one(
                {"pattern": "^[a-zß]"}, {"min_length": 1, "max_length": 2}, {"default": "none"},
                {"accepted_values": ["a", "B", "1", "-0"]}, {"pii": True, "masking": "hash"},
                {"masking": {"strategy": "partial", "keep": 1, "side": "left"}}, {"masking": "redact"},
            ),
            "b": lambda: self._one({"default": False}, {"required": True}),
            "dt": lambda: self._one({"min": "2024-01-01"}, {"max": "2026-02-28"}, {"default": "2026-01-01"}),
            "t": lambda: self._one({"required": True}, {"min": "2026-01-01 00:00:00"}),
            "w": lambda: self._one(
                {"foreign_key": {"reference": "countries", "key": "code"}}, {"pattern": ","}, {"required": True},
                {"pii": True, "masking": "nullify"},
            ),
        }  # fmt: skip
        return {**field, **(limits[name]() if name in limits and self._rarely(0.35) else {})}

    def _cleaning(self) -> list[Step]:
        text, make = self._one(*_TEXT), self.make
        return self._one(
            lambda: [{self._one("trim", "lower", "upper"): [text]}],
            lambda: [{"trim": {"fields": [text], "side": self._one("left", "right")}}],
            lambda: [{"deduplicate": self.random.sample(["k", "s", "b", "w", "dt", "c"], 2)}],
            lambda: [{"deduplicate": {"on": ["k"], "order_by": [self._one("d desc", "t", "c", "s desc")],
                                      "keep": self._one("first", "last")}}],
            lambda: [{"filter": make.of("boolean")}],
            lambda: [{"sql": f"{make.of('text')} AS {text}"}],
            lambda: [{"sql": f"SELECT *, {make.of('whole')} AS i FROM source"}],
            lambda: [{"coalesce": {"field": text, "sources": list(_TEXT), "default": self._one(None, "-")}}],
            lambda: [{"map_values": {"field": "w", "mapping": {"NO": "Norway", "DE": "Germany", "": "none"},
                                     **self._one({}, {"default": "other"}), **self._one({}, {"output": "country"})}}],
            lambda: [{"json_extract": {"field": "ja", "source": "js", "path": self._one("$.a", "$.b.c", "$.b"),
                                       **self._one({}, {"cast": "double"}, {"cast": "int"})}}],
            lambda: [{"cast": {name: _WIDER[name]}} for name in [self._one(*_WIDER)]],
        )()  # fmt: skip

    def _quality(self) -> Step:
        make = self.make
        kinds: list[Callable[[], Step]] = [
            lambda: {"sql": make.of("boolean")}, lambda: {"sql": make.of("boolean")},
            lambda: {"sql": make.of("boolean"), "severity": self._one("warning", "info")},
            lambda: {"sql": make.of("boolean"), "on_null": "fail"},
            lambda: {"not_null": self.random.sample(["s", "i", "dt", "w"], 2)},
            lambda: {"accepted_values": {"field": "w", "values": ["DE", "FR", "NO"]}},
            lambda: {"regex_match": {"field": "s", "pattern": self._one("^[a-z]", "[0-9]$", "^.$", r"\s")}},
            lambda: {"range": {"field": self._one("d", "c", "i"), "min": -1, "max": 100,
                               "inclusive": self._one(True, False)}},
            lambda: {"referential_integrity": {"field": "w", "reference": "countries", "key": "code"}},
        ]  # fmt: skip
        rules = [{"name": f"r{n}", **self._one(*kinds)()} for n in range(self.random.randint(0, 5))]
        checks = [
            {"null_ratio": {"field": "s", "max": 0.9}}, {"row_count_between": {"min": 0, "max": 1000}},
            {"unique": ["k", "s"]}, {"name": "total", "sql": "SELECT SUM(i) FROM source", "must_be_less_than": 10},
        ]  # fmt: skip
        return {
            "row_rules": rules,
            "dataset_rules": self.random.sample(checks, self._one(0, 0, 1)),
            "on_dataset_failure": "warn",
            **({"on_null": "fail"} if self._rarely() else {}),
        }

    def _enriching(self) -> list[Step]:
        make, n = self.make, self.random.randint(0, 99)
        kind = self._one("whole", "number", "decimal", "text", "boolean", "date", "moment")
        key = {"on": "w", "key": "code"}
        return self._one(
            lambda: [{"derive": {f"x{n}": make.of(kind)}}],
            lambda: [{"derive": {f"x{n}": make.of(kind), f"y{n}": f"x{n} IS NULL"}}],
            lambda: [{"lookup": {"field": f"country{n}", "reference": "countries", **key,
                                 "value": self._one("name", "rank"), **self._one({}, {"default": "Unknown"})}}],
            lambda: [{"join": {"reference": "countries", "on": "w", "key": ["code"], "fields": ["name", "rank"],
                               "type": self._one("left", "inner"), "prefix": f"p{n}_"}}],
            lambda: [{"window": {"partition_by": [self._one("b", "w", "k")], "order_by": ["d", "s desc", "l"],
                                 "columns": {f"rn{n}": "RANK()", f"sum{n}": self._one("SUM(i)", "MAX(c)", "LAG(s)")}}}],
            lambda: [{"bucket": {"field": f"band{n}", "source": self._one("d", "c", "i"),
                                 "bins": [{"lt": 1, "label": "low"}, {"gte": 1, "lt": 12.5, "label": "mid"}],
                                 **self._one({}, {"default": "high"})}}],
            lambda: [{"date_diff": {"field": f"gap{n}", "from": "dt", "to": self._one("t", "dt"),
                                    "unit": self._one("days", "hours", "weeks", "months", "years", "seconds")}}],
            lambda: [{"split": {"field": "w", "delimiter": ",", "output": f"parts{n}"}, "phase": "post"},
                     {"explode": {"field": f"parts{n}", "output": f"part{n}"}, "phase": "post"}],
            lambda: [{"filter": make.of("boolean"), "phase": "post"}],
            lambda: [{"sql": f"SELECT *, {make.of(kind)} AS z{n} FROM source", "phase": "post"}],
            lambda: [{"derive": {f"end{n}": "date_add(dt, 3)"}},
                     {"date_range_explode": {"start": "dt", "end": f"end{n}", "interval": "1d", "output": f"day{n}"}}],
        )()  # fmt: skip

    def _last(self) -> tuple[list[Step], Step]:
        """A step after which the columns are others, and a strategy."""
        aggregates = {
            "n": "COUNT(*)", "total": "SUM(c)", "mean": "AVG(i)", "most": "MAX(d)", "least": "MIN(s)", "some": "SUM(i)",
            "kinds": "COUNT(DISTINCT s)", "middle": "AVG(c)", "day": "MAX(dt)", "whole": "SUM(l % 1000)",
        }  # fmt: skip
        chosen = {name: aggregates[name] for name in self.random.sample(list(aggregates), 4)}
        plain = {"strategy": self._one("append", "overwrite")}
        parted = {"strategy": self._one("append", "overwrite_partitions"), "partition_by": [self._one("b", "dt", "k")]}
        merge = {"strategy": "merge", "primary_key": ["k"], "merge": {"order_by": ["t", "l"]}}
        history = {"strategy": "scd2", "primary_key": ["k"],
                   "scd2": {"timestamp_field": "t", "track_columns": ["s", "c"]}}  # fmt: skip
        flags = {**plain, "dq_flags": True}
        keeps: list[tuple[list[Step], Step]] = [
            ([], each) for each in (plain, plain, plain, parted, merge, history, flags)
        ]
        changes: list[tuple[list[Step], Step]] = [
            ([{"rollup": {"group_by": self.random.sample(["b", "w", "dt", "k"], 2), "aggregations": chosen,
                          **self._one({}, {"keys": ["k"]})}}], plain),
            ([{"pivot": {"on": "w", "values": ["DE", "FR"], "aggregate": self._one("SUM(i)", "COUNT(*)", "MAX(s)"),
                         "group_by": ["b"]}}], plain),
            ([{"unpivot": {"columns": ["s", "w"], "name": "metric", "value": "v"}}], plain),
            ([{"select": ["k", "s", "c"], "phase": "post"}], plain),
            ([{"drop": ["js", "w"], "phase": "post"}, {"rename": {"s": "text"}, "phase": "post"}], plain),
            ([{"sql": "SELECT b, COUNT(*) AS n, SUM(c) AS c, MAX(t) AS t FROM source GROUP BY b HAVING COUNT(*) > 1",
               "phase": "post"}], plain),
            ([{"sql": "SELECT s.k, s.s, c.name FROM source s LEFT JOIN countries c ON s.w = c.code AND c.rank = '1'",
               "phase": "post"}], plain),
        ]  # fmt: skip
        return self._one(*keeps, *changes)


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    """Rows of text as a file; an empty text is no value where the format can say so."""
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        return
    given = [{name: value or None for name, value in row.items()} for row in rows]
    if path.suffix == ".jsonl":
        lines = [json.dumps({n: v for n, v in row.items() if v is not None}, ensure_ascii=False) for row in given]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({name: pa.array([row[name] for row in given], pa.string()) for name in given[0]}), path)
