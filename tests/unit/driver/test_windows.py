"""What a window means for each kind of table, and which contracts a named file is for."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from lakelogic.contract import load_contract
from lakelogic.contract.contract import Contract
from lakelogic.core.errors import PlanError
from lakelogic.core.settings import Settings
from lakelogic.driver.overrides import concerned
from lakelogic.driver.windows import check_request, request_for, way_of
from lakelogic.driver.worker import Request
from lakelogic.run.windows import Span

FIELDS = "model: { fields: [{ name: id, type: string }, { name: at, type: timestamp }] }\n"
WEEK = Request(Settings(), window="range", span=Span(date(2026, 2, 1), date(2026, 2, 7)))
BY_DAY = Request(Settings(), span=Span(date(2026, 2, 1), date(2026, 2, 7)), backfill="day")


def declared(folder: Path, target: str, source: str = "load_mode: incremental") -> Contract:
    file = folder / "c.yaml"
    text = f"dataset: c\nsource: {{ path: in.csv, {source} }}\n{FIELDS}primary_key: [id]\n"
    file.write_text(f"{text}materialization: {{ target_path: lake/c, {target} }}\n")
    return load_contract(file)


DATED = "reprocess: { date_column: at }"
EVENTS = "load_mode: cdc, cdc: { format: flat, operation_field: op, order_by: [at] }"
WAYS = {
    "appended by day": (f"strategy: append, {DATED}", "load_mode: incremental", "rows"),
    "merged by day": (f"strategy: merge, merge: {{ order_by: [at] }}, {DATED}", "load_mode: incremental", "rows"),
    "a history": ("strategy: scd2, scd2: { timestamp_field: at }", "load_mode: incremental", "rows"),
    "events by day": (f"strategy: cdc, {DATED}", EVENTS, "rows"),
    "events": ("strategy: cdc", EVENTS, "whole"),
    "an aggregate": ("strategy: overwrite", "load_mode: full", "whole"),
    "merged by order": ("strategy: merge, merge: { order_by: [at] }", "load_mode: incremental", "whole"),
}


@pytest.mark.parametrize("name", WAYS)
def test_each_kind_of_table_follows_a_window_in_its_way(tmp_path: Path, name: str) -> None:
    target, source, way = WAYS[name]
    contract = declared(tmp_path, target, source)
    assert way_of(contract, "silver") == way
    check_request(contract, "silver", WEEK)
    asked = request_for(contract, "silver", BY_DAY)
    windows = asked.windows_of(contract, BY_DAY.clock.now())
    if way == "whole":
        assert (asked.window, windows) == ("none", (None,)), "once, and not for each day"
    else:
        assert len(windows) == 7


def test_reference_data_without_a_date_is_brought_up_to_date(tmp_path: Path) -> None:
    contract = declared(tmp_path, "strategy: append")
    assert request_for(contract, "reference", WEEK).window == "last_success"
    check_request(contract, "reference", WEEK)


REFUSED = {
    "appended without a date": ("strategy: append", "load_mode: incremental", "date of a row"),
    "overwritten by what is new": ("strategy: overwrite", "load_mode: incremental", "date of a row"),
    "merged without an order": (f"strategy: merge, {DATED}", "load_mode: incremental", "overwrite a newer one"),
    "a merge that forgets deletes": (
        f"strategy: merge, merge: {{ order_by: [at], delete_when: \"id = 'x'\" }}, {DATED}",
        "load_mode: incremental", "bring it back",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_right_is_refused(tmp_path: Path, name: str) -> None:
    target, source, words = REFUSED[name]
    contract = declared(tmp_path, target, source)
    with pytest.raises(PlanError, match=words):
        check_request(contract, "silver", WEEK)
    check_request(contract, "silver", Request(Settings()))


def test_a_merge_of_a_whole_source_needs_no_order(tmp_path: Path) -> None:
    check_request(declared(tmp_path, f"strategy: merge, {DATED}", "load_mode: full"), "silver", WEEK)


def test_a_file_is_for_the_contracts_whose_pattern_takes_it(tmp_path: Path) -> None:
    def reading(pattern: str) -> Contract:
        return declared(tmp_path, "strategy: append", f'pattern: "{pattern}"')

    own = {"claims": reading("claims_*.csv"), "policies": reading("policies_*.csv"), "all": reading("*.csv")}
    one = dict.fromkeys(own, reading("claims_7.csv"))
    assert set(concerned(own, one)) == {"claims", "all"}
    stranger = dict.fromkeys(own, reading("fix.txt"))
    assert set(concerned(own, stranger)) == set(own), "nobody's file is everybody's"
    several = dict.fromkeys(own, reading("claims_*_fix.csv"))
    assert set(concerned(own, several)) == set(own)
