"""Short and long forms load to the same model."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lakelogic.contract import Contract
from lakelogic.contract import transformations as t
from lakelogic.contract.duration import parse_duration, render_duration
from lakelogic.contract.field_types import FieldTypeError, parse_field_type
from lakelogic.contract.grammar import ContractModel
from lakelogic.contract.row_rules import AcceptedValues, NotNull, Range, SqlRule
from lakelogic.contract.source import source_format_of, source_type_of

Loads = Callable[[str], Contract]

ALL_STEPS = """
links:
  - { name: countries, path: ref/countries, columns: [code, name], broadcast: true }
  - { name: more, path: ref/more }
transformations:
  - deduplicate: [id]
  - deduplicate: { on: id, order_by: [changed desc], keep: last }
  - sql: "SELECT *, UPPER(name) AS name FROM source"
    phase: post
    dialect: duckdb
  - rename: { no: number }
  - select: [a, b]
  - drop: c
  - cast: { amount: decimal(12,2), tags: array<string>, shape: struct<a:int,b:string,c:long> }
  - trim: [name]
  - trim: { fields: [name], side: left }
  - lower: name
  - upper: [name]
  - derive: { net: "amount - fee", gross: "amount" }
  - derive: { field: net, sql: "amount - fee" }
  - coalesce: { field: phone, sources: [mobile, landline] }
  - map_values: { field: status, mapping: { A: active, no: inactive, 1: one }, default: other, output: state }
  - filter: "status <> 'x'"
  - split: { field: tags, delimiter: ";", output: tag_list }
  - explode: { field: tag_list, output: tag }
  - json_extract: { field: lat, source: spot, path: "$.lat", cast: double }
  - bucket: { field: band, source: price, bins: [{ lt: 10, label: low }, { gte: 10, label: high }] }
  - date_diff: { field: open_days, from: opened, to: closed }
  - date_range_explode: { start: s, end: e, interval: 1d, output: day }
  - lookup: { field: country_name, reference: countries, on: country, key: code, value: name, default: "?" }
  - join: { reference: countries, on: country, key: code, fields: [name] }
  - join: { reference: countries, on: "source.country = countries.code AND active" }
  - pivot: { on: metric, values: [a, b], aggregate: "SUM(v)", group_by: [id] }
  - unpivot: { columns: [a, b], name: metric, value: v }
  - window: { partition_by: [id], order_by: [ts], columns: { rn: "ROW_NUMBER()" } }
  - rollup: { group_by: day, aggregations: { total: "SUM(amount)" }, keys: id }
  - union: more
"""


def written(model: ContractModel) -> dict[str, Any]:
    """All but the place in the file."""
    return model.model_dump()


def test_every_step_loads_in_its_short_form(contract: Loads) -> None:
    steps = contract(ALL_STEPS).transformations
    assert {step.kind for step in steps} == set(t.STEP_KINDS)
    assert [step.path for step in steps] == [f"transformations.{index}" for index in range(len(steps))]


def test_steps_have_their_values_and_phases(contract: Loads) -> None:
    steps = contract(ALL_STEPS).transformations
    assert written(steps[0]) == written(t.Deduplicate(on=("id",)))
    assert written(steps[1]) == written(t.Deduplicate(on=("id",), order_by=("changed desc",), keep="last"))
    assert written(steps[2]) == written(
        t.SqlStep(sql="SELECT *, UPPER(name) AS name FROM source", phase="post", dialect="duckdb")
    )
    assert written(steps[6]) == written(
        t.Cast(
            types={
                "amount": "decimal(12,2)",
                "tags": "array<string>",
                "shape": "struct<a:int,b:string,c:long>",
            }
        )
    )
    assert written(steps[12]) == written(t.Derive(columns={"net": "amount - fee"}))
    assert written(steps[14]) == written(
        t.MapValues(
            field="status",
            mapping={"A": "active", "no": "inactive", "1": "one"},
            default="other",
            output="state",
        )
    )
    extract, difference = steps[18], steps[20]
    assert isinstance(extract, t.JsonExtract) and extract.json_path == "$.lat"
    assert isinstance(difference, t.DateDiff) and difference.from_ == "opened"
    joins = [step.on for step in steps if isinstance(step, t.Join)]
    assert joins == [("country",), "source.country = countries.code AND active"]
    pre = {step.kind for step in steps if step.phase == "pre"}
    assert pre == {
        "deduplicate", "rename", "select", "drop", "cast", "trim", "lower", "upper", "coalesce", "map_values",
        "filter", "split", "explode", "json_extract",
    }  # fmt: skip


def test_rules_have_their_values(contract: Loads) -> None:
    quality = contract(
        """
        quality:
          on_null: fail
          row_rules:
            - sql: "amount > 0"
            - { name: adult, range: { field: age, min: 18 }, severity: warning, phase: post }
            - not_null: [email, status]
            - accepted_values: { field: status, values: [A, NO, 1] }
            - regex_match: { field: email, pattern: "@" }
          dataset_rules:
            - unique: order_id
            - null_ratio: { field: phone, max: 0.2 }
            - row_count_between: { min: 1 }
            - { name: share, sql: "SELECT AVG(x) FROM source", must_be_between: [0.1, 0.9] }
        """
    ).quality
    first, adult, not_null, accepted, _ = quality.row_rules
    assert written(first) == written(SqlRule(sql="amount > 0")) and first.category == "correctness"
    assert isinstance(adult, Range) and (adult.name, adult.min, adult.phase) == ("adult", 18, "post")
    assert isinstance(not_null, NotNull) and not_null.category == "completeness"
    assert isinstance(accepted, AcceptedValues) and accepted.values == ("A", "NO", 1)
    assert [rule.kind for rule in quality.dataset_rules] == [
        "unique",
        "null_ratio",
        "row_count_between",
        "sql",
    ]
    assert quality.dataset_rules[3].path == "quality.dataset_rules.3"


def test_fields_know_other_spellings(contract: Loads) -> None:
    email, country = contract(
        """
        model:
          fields:
            - { name: email, nullable: false, pii: true, masking: partial, aliases: mail }
            - { name: country, allowed_values: [NO, SE], masking: { strategy: partial, keep: 2, side: left } }
        """
    ).fields
    assert email.type == "string" and email.required
    assert email.masking is not None and (email.masking.strategy, email.masking.keep) == ("partial", 4)
    assert email.aliases == ("mail",)
    assert country.accepted_values == ("NO", "SE")
    assert country.masking is not None and (country.masking.keep, country.masking.side) == (2, "left")


@pytest.mark.parametrize(
    ("word", "evolution", "unknown_fields"),
    [("allow", "allow", "allow"), ("strict", "strict", "fail"), ("quarantine", "allow", "quarantine")],
)
def test_schema_policy_in_one_word(contract: Loads, word: str, evolution: str, unknown_fields: str) -> None:
    policy = contract(f"schema_policy: {word}").schema_policy
    assert (policy.evolution, policy.unknown_fields) == (evolution, unknown_fields)


@pytest.mark.parametrize(
    "text",
    [
        "primary_key: [a, b]",
        "model: { primary_key: [a, b] }",
        "materialization: { primary_key: [a, b] }",
        "model: { fields: [{ name: a, primary_key: true }, { name: b, primary_key: true }] }",
    ],
)
def test_the_primary_key_is_found_wherever_it_is_declared(contract: Loads, text: str) -> None:
    assert contract(text).primary_key == ("a", "b")


def test_the_dataset_is_named_after_the_table_or_the_file(contract: Loads) -> None:
    assert contract("dataset: given").dataset == "given"
    assert contract("info: { table_name: customers }").dataset == "customers"
    assert contract("info: { title: Orders }").dataset == "orders"


@pytest.mark.parametrize(
    ("path", "kind", "file_format"),
    [
        ("data/customers.csv", "file", "csv"),
        ("customers.csv", "file", "csv"),
        ("s3://landing/customers/*.json", "file", "json"),
        ("landing/orders.jsonl.gz", "file", "jsonl"),
        ("s3://landing/customers/", "file", None),
        ("main.sales.customers", "table", "delta"),
        ("table:customers", "table", "delta"),
        ("postgresql://host/db", "database", None),
    ],
)
def test_type_and_format_are_read_off_the_path(path: str, kind: str, file_format: str | None) -> None:
    assert source_type_of(path) == kind
    assert source_format_of(path, None, kind) == file_format


def test_landing_is_another_word_for_file(contract: Loads) -> None:
    source = contract("source: { type: landing, path: in/, pattern: '*.csv' }").source
    assert source is not None and (source.type, source.format) == ("file", "csv")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3d", 259200),
        ("6h", 21600),
        ("168h", 604800),
        ("30m", 1800),
        ("2s", 2),
        ("1d 12h", 129600),
        ("0s", 0),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)
    assert parse_duration(render_duration(parse_duration(text))) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["soon", "3", "3 days", "-1d", "", "1.5h"])
def test_what_is_not_a_duration(text: str) -> None:
    with pytest.raises(ValueError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("Integer", "int"),
        ("decimal( 12 , 2 )", "decimal(12,2)"),
        ("array< map<string, bigint> >", "array<map<string,long>>"),
        ("struct<a: int, b: struct<c:string>>", "struct<a:int,b:struct<c:string>>"),
        ("timestamp_ntz", "timestamp_ntz"),
    ],
)
def test_types_have_one_spelling(text: str, spelled: str) -> None:
    assert parse_field_type(text) == spelled


@pytest.mark.parametrize(
    "text",
    ["strng", "decimal", "decimal(40,2)", "decimal(2,3)", "array", "array<int", "int int", "map<int>", "a-b"],
)
def test_what_is_not_a_type_has_a_hint(text: str) -> None:
    with pytest.raises(FieldTypeError) as caught:
        parse_field_type(text)
    assert caught.value.hint
