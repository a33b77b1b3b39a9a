"""Raw Bronze only grows: what would change, leave out or hide a part of it is refused where it is written."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakelogic.contract import Contract, Draft
from lakelogic.plan.build import check_contract

RAW = "source: { path: a.jsonl, raw: true }\n"
KEY = ", primary_key: [id]"
SCD2 = ", scd2: { timestamp_field: at }"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("materialization: { strategy: overwrite }", "strategy `overwrite` changes or replaces rows"),
        ("materialization: { strategy: overwrite_partitions, partition_by: [a] }", "strategy `overwrite_partitions`"),
        ("materialization: { strategy: snapshot }", "strategy `snapshot`"),
        (f"materialization: {{ strategy: merge{KEY} }}", "strategy `merge`"),
        (f"materialization: {{ strategy: scd2{KEY}{SCD2} }}", "strategy `scd2`"),
        ("materialization: { reprocess: { date_column: day } }", "`reprocess` is about replacing rows"),
        ("materialization: { format: parquet }", "cannot refuse other writers"),
        ("materialization: { table_properties: { delta.appendOnly: false } }", "`delta.appendOnly` is off"),
        ("model: { fields: [{ name: checksum }] }", "makes the column `checksum` itself"),
        ("model: { fields: [{ name: email, masking: hash }] }", "beside a payload that shows it"),
        ("schema_policy: { unknown_fields: fail }", "rejects nothing"),
    ],
)
def test_what_would_change_or_hide_the_archive_is_refused(draft: Callable[..., Draft], text: str, told: str) -> None:
    (problem,) = draft(RAW + text).problems
    assert problem.code == "LL167" and told in problem.message
    assert problem.place is not None and problem.place.line == 2 and problem.place.column > 1 and problem.hint


def test_a_source_of_raw_bronze_applies_no_change_events(draft: Callable[..., Draft]) -> None:
    found = draft("source: { path: a.jsonl, raw: true, load_mode: cdc, columns: all }").problems
    assert {(problem.code, problem.message) for problem in found} >= {
        ("LL167", "`raw` applies no change events"),
        ("LL167", "`raw` keeps the whole record as it is"),
    }


def test_raw_bronze_reads_each_record_once_unless_it_says_otherwise(contract: Callable[[str], Contract]) -> None:
    once, again = contract(RAW), contract("source: { path: a.jsonl, raw: true, load_mode: full }")
    assert once.source is not None and once.source.load_mode == "incremental"
    assert again.source is not None and again.source.load_mode == "full"


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("filter: \"raw_payload <> ''\"", "`filter` changes which records there are"),
        ("deduplicate: [checksum]", "`deduplicate` changes which records there are"),
        ("unpivot: { columns: [source_system, source_topic], name: n, value: v }", "`unpivot` changes which records"),
        ("sql: \"SELECT * FROM source WHERE checksum <> 'a'\"", "`sql` changes which records there are"),
        ("sql: SELECT checksum FROM source", "keeps `raw_payload` as it is"),
        ('derive: { checksum: "MD5(raw_payload)" }', "keeps `checksum` as it is"),
        ("drop: [raw_payload]", "keeps `raw_payload` as it is"),
        ("rename: { raw_payload: payload }", "keeps `raw_payload` as it is"),
    ],
)
def test_steps_that_touch_the_archive_are_refused(contract: Callable[[str], Contract], step: str, told: str) -> None:
    (problem,) = check_contract(contract(f"{RAW}transformations:\n  - {step}"))
    assert problem.code == "LL167" and told in problem.message
    assert problem.place is not None and problem.place.line == 3


def test_steps_that_add_columns_are_accepted(contract: Callable[[str], Contract]) -> None:
    told = contract(
        f"""{RAW}transformations:
  - json_extract: {{ field: id, source: raw_payload, path: "$.id", cast: int }}
  - derive: {{ ingestion_date: "CAST(ingestion_timestamp AS DATE)" }}
  - sql: "UPPER(source_system) AS system"
materialization: {{ target_path: lake/a, partition_by: [source_system, ingestion_date] }}
"""
    )
    assert check_contract(told) == ()
