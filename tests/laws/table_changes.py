"""Tables that change by chance: a strategy, keys and partitions of hostile values, and several batches of files.

Every track reads the same files of one landing folder under a contract of its own, which may change between batches:
a column more, or a wider type.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

Row = dict[str, str | None]
Step = dict[str, Any]

_LONG = "x" * 180
_TEXTS = [
    "a", "A", "a ", " a", "ß", "ss", "SS", "\u0130", "i\u0307", "I", "😀", "😀x", "\x01", "\t", "ab", "bc", "b", "c",
    "abc", "\u00e9", "e\u0301", "NULL", "1.0", "1.00", "-0", "'", '"', "\\", "a%b", "",
]  # fmt: skip
_PARTS = [
    "a/b", "x=y", " ", "%20", "\u00e9", "e\u0301", "a b", "a", "A", "a ", "__HIVE_DEFAULT_PARTITION__", "null", "a%2Fb",
    "#", "?", "+", "😀", "\x01", "{x}", "[y]", "^|", "'", '"', "a\\b", ":", "ß", "..", ".", "_x", "~", "a,b", "", _LONG,
    None, None,
]  # fmt: skip
_MOMENTS = [
    "2026-02-03 10:11:12", "2026-02-03T12:11:12+02:00", "2026-02-03T10:11:12Z", "2026-02-03 10:11:12.000001",
    "1969-12-31 23:59:59.5", "2026-03-29T02:30:00+01:00", "2026-03-29 01:30:00", "0001-01-01", "2026-02-03 10:11:12.5",
    "1582-10-10 00:00:00", "2026-02-04",
]  # fmt: skip
_VALUES: dict[str, list[str | None]] = {
    "string": [*_TEXTS],
    "int": ["0", "1", "-1", "7", "07", "2147483647", "-2147483648"],
    "long": ["0", "1", "-9223372036854775808", "9007199254740993", "9007199254740992"],
    "decimal(10,2)": ["1.0", "1.00", "1", "-0.0", "0", "0.10", ".1", "99999999.99", "-1.5"],
    "decimal(38,18)": ["1.0", "1.00", "0.000000000000000001", "-0", "12345678901234567890.123456789012345678"],
    "double": ["0.0", "-0.0", "1.5", "0.1", "1e308", "-2", "1e-320", "100", "1e2"],
    "float": ["0.0", "-0.0", "1.5", "0.1", "100"],
    "boolean": ["true", "false", "1", "no"],
    "date": ["2026-02-03", "2026-2-3", "0001-01-01", "1582-10-10", "1969-12-31", "9999-12-30"],
    "timestamp": [*_MOMENTS],
    "timestamp_ntz": ["2026-02-03 10:11:12", "2026-02-03T10:11:12", "2026-02-03 10:11:12.000001", "1969-12-31 23:59"],
}  # fmt: skip
_WRONG = {
    "int": "x",
    "long": "4.7",
    "decimal(10,2)": "abc",
    "double": "1e400",
    "boolean": "maybe",
    "date": "2026-02-30",
}
_WIDER = {"int": "long", "decimal(10,2)": "decimal(18,4)", "float": "double", "date": "timestamp_ntz"}
_KEYS = ("string", "string", "string", "int", "long", "decimal(10,2)", "double", "date", "timestamp", "timestamp_ntz",
         "boolean", "decimal(38,18)", "float")  # fmt: skip
_ORDERS = ("int", "timestamp", "string", "double", "date", "decimal(10,2)", "long")


@dataclass(frozen=True)
class Batch:
    """One file, and the contract from then on."""

    contract: Step
    rows: tuple[Row, ...]


class TableChanges:
    """Makes a contract and its batches."""

    def __init__(self, random: Random, strategy: str | None = None, rows: int = 9) -> None:
        self.random, self.rows = random, rows
        self.strategy = strategy or self._one("merge", "merge", "merge", "scd2", "scd2", "cdc", "cdc",
                                              "overwrite_partitions", "snapshot", "append")  # fmt: skip
        self.debezium = self.strategy in {"cdc", "scd2"} and self._rarely(0.4 if self.strategy == "cdc" else 0.15)
        self.format = "jsonl" if self.debezium else self._one("csv", "jsonl", "parquet", "typed")
        self.types = self._columns()
        self.pools = {name: self._pool(name, type_) for name, type_ in self.types.items()}
        self.flat = self.strategy == "cdc" and not self.debezium
        self.materialization = self._materialization()
        self.rules = (
            [{"name": "r", "sql": self._one("n > 3", "v <> 'a'", "n IS NOT NULL")}] if self._rarely(0.4) else []
        )
        self.policy = self._one({}, {}, {"evolution": "compatible"}, {"evolution": "allow"})

    def batches(self) -> list[Batch]:
        found = []
        for number in range(self.random.randint(3, 5)):
            if number and self._rarely(0.35):
                self._evolve(number)
            rows = [self._row(number) for _ in range(self.random.randint(1, self.rows))]
            if found and self._rarely(0.3):
                rows += [dict.fromkeys(self.types, None) | row for row in found[-1].rows[:2]]
            found.append(Batch(self._contract(), tuple(rows)))
        return found

    def _columns(self) -> Row | Any:
        keys = {f"k{n}": self._one(*_KEYS) for n in range(self._one(1, 1, 2, 2, 3))}
        self.keys = list(keys)
        parts: dict[str, str] = {}
        self.partition_by: list[str] = []
        if self.strategy == "overwrite_partitions" or self._rarely(0.5):
            parts = {f"p{n}": self._one("string", "string", "string", *_KEYS) for n in range(self._one(1, 1, 2))}
            self.partition_by = list(parts)
            if self._rarely(0.3):
                self.partition_by = [self._one(*keys)] if self._rarely() else [*parts, self.keys[0]]
        order = {"o": self._one(*_ORDERS), "o2": self._one(*_ORDERS)}
        other = {"v": "string", "n": self._one("int", "decimal(10,2)", "float", "double"), "m": self._one(*_VALUES)}
        stamp = {"at": self._one("timestamp", "timestamp", "date", "timestamp_ntz")} if self.strategy == "scd2" else {}
        return {**keys, **parts, **order, **other, **stamp}

    def _pool(self, name: str, type_: str) -> list[str | None]:
        values = _PARTS if name.startswith("p") and type_ == "string" else _VALUES[type_]
        most = self.rows // 2 if name.startswith("k") else self.rows
        few = self.random.sample(values, min(len(values), most))
        if not name.startswith("k") or self._rarely(0.1):
            few.append(None)
        if type_ in _WRONG and self._rarely(0.1):
            few.append(_WRONG[type_])
        if type_ in {"double", "float"} and self.format == "typed":
            few.append("NaN")
        return few

    def _materialization(self) -> Step:
        given: Step = {"strategy": self.strategy}
        if self.strategy in {"merge", "scd2", "cdc"}:
            given["primary_key"] = self.keys
        if self.partition_by:
            given["partition_by"] = self.partition_by
        if self.strategy == "merge":
            given["merge"] = self._merge()
        if self.strategy == "scd2":
            tracked, key = self._one({}, {"track_columns": ["v", "n"]}), self._one({}, {"surrogate_key": "sk"})
            given["scd2"] = {"timestamp_field": "at", **tracked, **key, **self._one({}, {}, {"on_delete": "ignore"})}
            if self._rarely(0.5) and not self.debezium:
                given["merge"] = {"delete_when": "v = 'a'"}
        if self.strategy == "cdc" and self._rarely(0.5):
            given["soft_delete"] = {
                "column": "gone",
                **self._one({}, {"time_column": "gone_at", "reason_column": "why"}),
            }
        if self.strategy == "snapshot" and self._rarely(0.5):
            given["partition_by"] = ["snapshot_date", *self.partition_by]
        return given

    def _merge(self) -> Step:
        order: Step = (
            {"order_by": self._one(["o"], ["o desc"], ["o asc"], ["o", "o2 asc"])} if self._rarely(0.75) else {}
        )
        twice = self._one({}, {"on_duplicate_key": "quarantine"}) if order else {"on_duplicate_key": "quarantine"}
        if self._rarely(0.05):
            twice = {"on_duplicate_key": "fail"}
        change = self._one(
            {}, {}, {"update_columns": ["v", "m"]}, {"insert_only": True}, {"delete_when": "v = 'a' OR n IS NULL"},
            {"delete_missing": True}, {"delete_when": "n = 1", "update_columns": ["n"]},
        )  # fmt: skip
        return {**order, **twice, **change}

    def _contract(self) -> Step:
        merge = self.materialization.get("merge", {})
        mode = "full" if merge.get("delete_missing") or self.strategy == "snapshot" else "incremental"
        source: Step = {
            "path": "landing",
            "format": {"typed": "parquet"}.get(self.format, self.format),
            "load_mode": mode,
        }
        if self.debezium or self.flat:
            source["load_mode"] = "cdc"
            hard = {"deletes": "soft" if "soft_delete" in self.materialization or self.strategy == "scd2" else "hard"}
            form = {} if self.debezium else {"format": "flat", "operation_field": "op", "order_by": ["o", "o2"]}
            source["cdc"] = {**form, **(hard if self.strategy == "cdc" else {})}
        fields = [{"name": name, "type": type_} for name, type_ in self.types.items()]
        return {
            "version": "1.0.0",
            "dataset": "rows",
            "source": source,
            "model": {"fields": fields},
            **({"schema_policy": self.policy} if self.policy else {}),
            **({"quality": {"row_rules": self.rules}} if self.rules else {}),
            "materialization": self.materialization,
        }

    def _evolve(self, number: int) -> None:
        wider = [name for name, type_ in self.types.items() if type_ in _WIDER]
        if wider and self._rarely(0.6):
            name = self._one(*wider)
            self.types[name] = _WIDER[self.types[name]]
            if self._rarely(0.5):
                self.pools[name] = [*self.pools[name], self._one(*_VALUES.get(self.types[name], self.pools[name]))]
            return
        type_ = self._one("string", "int", "double", "timestamp")
        self.types[f"e{number}"] = type_
        self.pools[f"e{number}"] = self._pool("e", type_)

    def _row(self, number: int) -> Row:
        row: Row = {name: self.random.choice(pool) for name, pool in self.pools.items()}
        if self.flat:
            row["op"] = self._one(
                "c", "u", "U", "update", "d", "D", "r", "insert", *(["t", "x"] if self._rarely() else [])
            )
        if self.debezium:
            row["op"] = self._one("c", "u", "u", "d", "r", *(["t", "x"] if self._rarely() else []))
            row["lsn"] = self._one("1", "2", "3", "10", "20", "100", None)
            row["ts"] = str(1_770_000_000_000 + self.random.randint(0, 3))
        return row

    def _one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def _rarely(self, chance: float = 0.2) -> bool:
        return self.random.random() < chance

    def write_batch(self, folder: Path, number: int, batch: Batch) -> None:
        """The file of a batch; its contract is written for each track."""
        folder.mkdir(parents=True, exist_ok=True)
        ending = {"typed": "parquet"}.get(self.format, self.format)
        path = folder / f"{number}.{ending}"
        types = {field["name"]: field["type"] for field in batch.contract["model"]["fields"]}
        names = [*types, *(["op"] if self.flat else [])]
        if self.debezium:
            _write_envelopes(path, batch.rows, list(types))
        elif self.format == "csv":
            _write_csv(path, batch.rows, names)
        elif self.format == "jsonl":
            _write_jsonl(path, batch.rows, names)
        else:
            _write_parquet(path, batch.rows, names, types if self.format == "typed" else {})


def write_contract(path: Path, contract: Step, target: str) -> None:
    contract = {**contract, "materialization": {**contract["materialization"], "target_path": target}}
    path.write_text(yaml.safe_dump(contract, sort_keys=False, allow_unicode=True), encoding="utf-8")


def _write_csv(path: Path, rows: tuple[Row, ...], names: list[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
        writer.writeheader()
        writer.writerows({name: row.get(name) for name in names} for row in rows)


def _write_jsonl(path: Path, rows: tuple[Row, ...], names: list[str]) -> None:
    lines = [json.dumps({n: row[n] for n in names if row.get(n) is not None}, ensure_ascii=False) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write_envelopes(path: Path, rows: tuple[Row, ...], names: list[str]) -> None:
    lines = []
    for row in rows:
        image = {name: row[name] for name in names if row.get(name) is not None}
        lsn = row["lsn"]
        source = {**({"lsn": int(lsn)} if lsn is not None else {}), "ts_ms": int(row["ts"] or 0)}
        gone = row["op"] == "d"
        sides = {"before": image if gone else None, "after": None if gone or row["op"] == "t" else image}
        lines.append(
            json.dumps({**sides, "op": row["op"], "source": source, "ts_ms": source["ts_ms"]}, ensure_ascii=False)
        )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write_parquet(path: Path, rows: tuple[Row, ...], names: list[str], types: dict[str, str]) -> None:
    columns = {}
    for name in names:
        type_ = types.get(name, "string")
        columns[name] = pa.array([_typed(row.get(name), type_) for row in rows], _arrow(type_))
    pq.write_table(pa.table(columns), path)


def _typed(value: str | None, type_: str) -> Any:
    if value is None or type_ == "string":
        return value
    try:
        match type_:
            case "int" | "long":
                return int(value)
            case "double" | "float":
                return float(value)
            case "boolean":
                return value in {"true", "1"}
            case "date":
                year, month, day = value.split("-")
                return date(int(year), int(month), int(day))
            case "timestamp":
                moment = datetime.fromisoformat(value)
                return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            case "timestamp_ntz":
                return datetime.fromisoformat(value)
            case _:
                scale = int(type_.rstrip(")").split(",")[1])
                return (
                    Decimal(value).quantize(Decimal(1).scaleb(-scale), context=None) if scale < 18 else Decimal(value)
                )
    except (ValueError, ArithmeticError):
        return None


def _arrow(type_: str) -> pa.DataType:
    if type_.startswith("decimal"):
        precision, scale = type_[8:-1].split(",")
        return pa.decimal128(int(precision), int(scale))
    return {
        "string": pa.string(), "int": pa.int32(), "long": pa.int64(), "double": pa.float64(), "float": pa.float32(),
        "boolean": pa.bool_(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }[type_]  # fmt: skip
