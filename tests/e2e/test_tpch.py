"""The TPC-H estate, on a few rows made by hand: answers as SQL without contracts gives them, and every rule works."""

from __future__ import annotations

import csv
import importlib.util
from datetime import date, timedelta
from pathlib import Path
from types import ModuleType

import pytest

from lakelogic.contract.loader import load_draft

REPO = Path(__file__).resolve().parents[2]
ORDERS, LINES = 90, 4
MODES = ("REG AIR", "MAIL", "SHIP", "AIR")


@pytest.fixture(scope="module")
def tpch() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_tpch", REPO / "benchmarks" / "tpch.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_estate_has_forty_rules() -> None:
    rules = 0
    for path in sorted((REPO / "examples" / "tpch" / "contracts").glob("*/*.yaml")):
        contract = load_draft(path).contract
        assert contract is not None, path
        rules += len(contract.quality.row_rules) + len(contract.quality.dataset_rules)
    assert rules == 40


def test_gold_answers_are_right_and_each_rule_sets_its_row_aside(tpch: ModuleType, tmp_path: Path) -> None:
    landing, lake = tmp_path / "landing", tmp_path / "lake"
    _write(landing / "orders" / "day1.csv", [_order(number) for number in range(1, ORDERS)])
    _write(landing / "lineitem" / "day1.csv", [_line(n, k) for n in range(1, ORDERS) for k in range(1, LINES + 1)])
    tpch.plant(landing)
    tpch.run(landing, lake, "duckdb")
    assert tpch.check(lake, landing, "made by hand") == []
    found = tpch.answers(lake)
    assert {query: len(rows) for query, rows in found.items()} == {"Q1": 4, "Q4": 5, "Q6": 1, "Q12": 2}


def _order(number: int) -> dict[str, object]:
    old = _ordered(number) < date(1995, 1, 1)
    return {
        "o_orderkey": _key(number),
        "o_custkey": 3 * number + 1,
        "o_orderstatus": "F" if old else "P",
        "o_totalprice": f"{1000 + number}.50",
        "o_orderdate": _ordered(number),
        "o_orderpriority": ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")[number % 5],
        "o_clerk": f"Clerk#{number:09d}",
        "o_shippriority": 0,
        "o_comment": f"comment, with comma, {number}",
    }


def _line(number: int, line: int) -> dict[str, object]:
    ordered, part, quantity = _ordered(number), 100 * number + line, 1 + (number * 7 + line * 11) % 50
    shipped = ordered + timedelta(days=1 + (number * 7 + line * 13) % 100)
    received = shipped + timedelta(days=1 + (number + 5 * line) % 30)
    turned = date(1995, 6, 17)
    cents = quantity * (90000 + part // 10 % 20001 + 100 * (part % 1000))
    return {
        "l_orderkey": _key(number),
        "l_partkey": part,
        "l_suppkey": line,
        "l_linenumber": line,
        "l_quantity": quantity,
        "l_extendedprice": f"{cents // 100}.{cents % 100:02d}",
        "l_discount": f"0.{(number + line) % 11:02d}",
        "l_tax": f"0.0{(number * line) % 9}",
        "l_returnflag": "N" if received > turned else "AR"[line % 2],
        "l_linestatus": "O" if shipped > turned else "F",
        "l_shipdate": shipped,
        "l_commitdate": ordered + timedelta(days=30 + (number * 3 + line * 5) % 60),
        "l_receiptdate": received,
        "l_shipinstruct": "COLLECT COD",
        "l_shipmode": MODES[line % 4],
        "l_comment": f"line {line} of order {number}",
    }


def _key(number: int) -> int:
    """Of every 32 keys the first eight are used."""
    return number // 8 * 32 + number % 8


def _ordered(number: int) -> date:
    return date(1993, 6, 1) + timedelta(days=11 * number)


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True)
    with path.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
