"""Every mistake is found, all at once, at its place, with a hint, in our own words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lakelogic.contract import Draft, load_contract
from lakelogic.core.errors import ContractError

Load = Callable[..., Draft]

# name: text, code, line, column, words of the message, words of the hint
MISTAKES: dict[str, tuple[str, str, int, int, str, str]] = {
    "a limit of deletes without deletes": (
        "primary_key: a\nmaterialization:\n  strategy: merge\n  merge: { max_delete_ratio: 0.1 }", "LL161", 4, 30,
        "is a limit of `delete_missing`", "delete_missing: true",
    ),
    "deletes by an incremental load": (
        "primary_key: a\nsource: { path: a.csv, load_mode: incremental }\nmaterialization:\n  strategy: merge\n"
        "  merge: { delete_missing: true }", "LL161", 5, 28, "needs all rows of the source", "load_mode: full",
    ),
    "partitions to overwrite are not named": (
        "materialization:\n  strategy: overwrite_partitions", "LL159", 2, 13, "needs partitions", "partition_by",
    ),
    "a date column for a strategy that has its own": (
        "primary_key: a\nmaterialization:\n  strategy: snapshot\n  reprocess: { date_column: d }", "LL159", 4, 14,
        "`snapshot` does not replace rows by date", "take `reprocess` away",
    ),
    "overwrite of a table that takes appends only": (
        "materialization:\n  strategy: overwrite\n  table_properties: { delta.appendOnly: true }", "LL159", 2, 13,
        "takes appends only", "use `append`",
    ),
    "unknown key": ("datset: a", "LL110", 1, 1, "`datset` is not a key of a contract", "`dataset`"),
    "unknown key of a block": (
        "source:\n  path: a.csv\n  formt: csv", "LL110", 3, 3, "`formt` is not a key of `source`", "`format`",
    ),
    "unknown key that resembles nothing": (
        "cost: { zzz: 1 }", "LL110", 1, 9, "`zzz` is not a key of `cost`", "`budget_monthly`, `currency`",
    ),
    "unknown key of a field": (
        "model: { fields: [{ name: a, requred: true }] }", "LL110", 1, 30, "`requred`", "`required`",
    ),
    "unknown key of a step": (
        "transformations:\n  - deduplicate: { on: [a], kep: last }", "LL110", 2, 29,
        "`kep` is not a key of `deduplicate`", "`keep`",
    ),
    "unknown key beside a step": (
        "transformations:\n  - trim: [a]\n    fase: pre", "LL110", 3, 5, "`fase`", "`phase`",
    ),
    "unknown kind of step": (
        "transformations:\n  - dedupe: [a]", "LL110", 2, 5, "`dedupe` is not a kind of step", "`deduplicate`",
    ),
    "unknown kind of rule": (
        "quality:\n  row_rules:\n    - notnull: [a]", "LL110", 3, 7, "`notnull` is not a kind of row rule",
        "`not_null`",
    ),
    "unknown kind of dataset rule": (
        "quality: { dataset_rules: [{ uniqe: [a] }] }", "LL110", 1, 30, "`uniqe`", "`unique`",
    ),
    "a step of two kinds": (
        "transformations:\n  - trim: [a]\n    lower: [a]", "LL119", 3, 5, "`trim` and `lower`", "separate",
    ),
    "a step without a kind": ("transformations:\n  - phase: pre", "LL111", 2, 5, "no kind", "`sql`"),
    "a step that is text": ("transformations: [trim]", "LL113", 1, 19, "must be a step, not text", "- sql:"),
    "a topic that is not named": ("source:\n  type: kafka", "LL111", 2, 3, "`kafka` is missing", "bootstrap_servers"),
    "a topic with a path": (
        "source:\n  kafka: { bootstrap_servers: b, topic: t }\n  type: kafka\n  path: x", "LL157", 4, 9,
        "a topic has no `path`", "take it away",
    ),
    "a topic of a source that is files": (
        "source:\n  path: a.csv\n  kafka: { bootstrap_servers: b, topic: t }", "LL157", 3, 10, "the source is a file",
        "type: kafka",
    ),
    "offsets that are no place": (
        "source:\n  kafka:\n    bootstrap_servers: b\n    topic: t\n    starting_offsets: newest", "LL112", 5, 23,
        "`starting_offsets` must be a place to start from", "earliest",
    ),
    "offsets of a partition without a number": (
        "source:\n  kafka:\n    bootstrap_servers: b\n    topic: t\n    starting_offsets: '{\"other\": {\"0\": 1}}'",
        "LL113", 5, 23, "must name partitions by number, not `other`", "earliest",
    ),
    "offsets that are none": (
        "source:\n  kafka:\n    bootstrap_servers: b\n    topic: t\n    starting_offsets: '{\"0\": -3}'", "LL113", 5,
        23, "must have an offset for partition 0", "earliest",
    ),
    "missing key": ("model: { fields: [{ type: int }] }", "LL111", 1, 19, "`name` is missing", "add `name"),
    "missing key of a step": (
        "transformations:\n  - coalesce: { field: a }", "LL111", 2, 15, "`sources` is missing in `coalesce`",
        "add `sources",
    ),
    "a dataset rule without bound": (
        "quality:\n  dataset_rules:\n    - sql: SELECT 1 FROM source", "LL111", 3, 12, "needs a bound",
        "`must_be_greater_than`",
    ),
    "wrong choice": (
        "materialization: { strategy: apend }", "LL112", 1, 30, "`apend` is not a choice for `strategy`",
        "did you mean `append`?",
    ),
    "wrong choice that resembles nothing": (
        "source: { path: a.csv, on_empty: zzz }", "LL112", 1, 34, "`zzz`", "choose one of `skip`, `fail`",
    ),
    "wrong masking": (
        "model: { fields: [{ name: a, masking: hsh }] }", "LL112", 1, 39, "`hsh`", "`hash`",
    ),
    "wrong policy": ("schema_policy: stric", "LL112", 1, 16, "`stric` is not a schema policy", "`strict`"),
    "number for text": ("dataset: 5", "LL113", 1, 10, "`dataset` must be text, not a number", "quotes"),
    "text for a number": (
        "model: { fields: [{ name: a, min_length: few }] }", "LL113", 1, 42, "whole number", "",
    ),
    "yes for true": (
        "lineage: { enabled: yes }", "LL113", 1, 21, "`enabled` must be true or false, not text", "`true`",
    ),
    "text for a list": ("links: countries", "LL113", 1, 8, "`links` must be a list, not text", ""),
    "list for a mapping": ("source: [a]", "LL113", 1, 9, "`source` must be a mapping, not a list", ""),
    "list for a rename": (
        "transformations: [{ rename: [a] }]", "LL113", 1, 29, "`rename` must be a mapping, not a list", "",
    ),
    "nothing": ("quality:\ndataset: a", "LL113", 1, 9, "`quality` is empty", "take the key away"),
    "number in a list of names": (
        "consumers: [a, 5]", "LL113", 1, 16, "`consumers` must be a list of names, and this item is a number",
        "quotes",
    ),
    "empty list": ("quality: { row_rules: [{ not_null: [] }] }", "LL114", 1, 36, "must not be empty", ""),
    "percent for a ratio": (
        "quality: { max_quarantine_ratio: 20 }", "LL114", 1, 34, "ratio from 0 to 1", "0.2",
    ),
    "bad duration": (
        "compliance: { retention: soon }", "LL115", 1, 26, "must be a duration, not `soon`", "`6h`",
    ),
    "bad version": ("version: 1.0", "LL116", 1, 10, "version of three numbers", '"1.0.0"'),
    "bad type": ("model: { fields: [{ name: a, type: strng }] }", "LL117", 1, 36, "`strng`", "`string`"),
    "bad type in a cast": ("transformations: [{ cast: { a: nt } }]", "LL117", 1, 32, "`nt`", "`int`"),
    "bare decimal": (
        "model: { fields: [{ name: a, type: decimal }] }", "LL117", 1, 36, "digits", "decimal(12,2)",
    ),
    "two spellings": (
        "model: { fields: [{ name: a, required: true, nullable: false }] }", "LL118", 1, 46, "`nullable`",
        "keep one",
    ),
    "two fields of one name": (
        "model:\n  fields:\n    - name: id\n    - name: Id", "LL150", 4, 13,
        "two fields are called `Id`", "line 3",
    ),
    "two rules of one name": (
        "quality:\n  row_rules:\n    - { name: r, sql: a > 1 }\n    - { name: r, sql: a > 2 }",
        "LL150", 4, 15, "two row rules", "line 3",
    ),
    "two primary keys": (
        "primary_key: [a]\nmaterialization: { primary_key: [b] }", "LL151", 2, 33,
        "also declared as [b]", "[a]",
    ),
    "a flagged field beside the key": (
        "primary_key: a\nmodel: { fields: [{ name: b, primary_key: true }] }", "LL151", 2, 43, "[b]", "[a]",
    ),
    "merge without a key": (
        "materialization: { strategy: merge }", "LL152", 1, 30, "needs a primary key",
        "materialization.primary_key",
    ),
    "partition by an unknown column": (
        "schema_policy: strict\nmodel: { fields: [{ name: day }] }\nmaterialization: { partition_by: [dya] }",
        "LL153", 3, 35, "`partition_by` names `dya`", "`day`",
    ),
    "unknown link": (
        "links: [{ name: countries, path: c }]\n"
        "quality: { row_rules: [{ referential_integrity: { field: a, reference: contries, key: k } }] }",
        "LL154", 2, 72, "no link `contries`", "`countries`",
    ),
    "union of an unknown link": ("transformations: [{ union: [x] }]", "LL154", 1, 29, "link `x`", "links:"),
    "a link without a place": ("links: [{ name: a }]", "LL155", 1, 9, "`path` or `dataset`", "`path"),
    "a key that is no field": (
        "schema_policy: strict\nmodel: { fields: [{ name: id }] }\nmaterialization: { primary_key: [idd] }",
        "LL153", 3, 34, "`primary_key` names `idd`", "`id`",
    ),
    "a link with our name": ("links: [{ name: source, path: p }]", "LL155", 1, 17, "`source`", ""),
    "limits upside down": (
        "model: { fields: [{ name: a, min: 9, max: 1 }] }", "LL156", 1, 35, "above", "exchange",
    ),
    "a range without limits": (
        "quality: { row_rules: [{ range: { field: a } }] }", "LL156", 1, 33, "neither `min` nor `max`", "add",
    ),
    "a bin without limit": (
        "transformations: [{ bucket: { field: a, source: b, bins: [{ label: x }] } }]", "LL156", 1, 59,
        "no limit", "`lt`",
    ),
    "a watermark that does not fit": (
        "source: { path: a.csv, load_mode: incremental, watermark_strategy: delta_version }", "LL157", 1, 68,
        "`delta_version` works on a table", "`pipeline_log`",
    ),
    "a required field that masking empties": (
        "model: { fields: [{ name: a, required: true, masking: nullify }] }", "LL158", 1, 55, "`nullify`", "",
    ),
    "a source without a path": ("source: { format: csv }", "LL111", 1, 9, "`path` is missing", "add `path"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_at_its_place(draft: Load, name: str) -> None:
    text, code, line, column, message, hint = MISTAKES[name]
    problems = draft(text).problems
    assert len(problems) == 1, "\n".join(map(str, problems))
    (problem,) = problems
    assert (problem.code, message in problem.message, hint in (problem.hint or "")) == (code, True, True), problem
    assert problem.place is not None and (problem.place.line, problem.place.column) == (line, column), problem


@pytest.mark.parametrize("name", MISTAKES)
def test_the_words_of_the_library_stay_inside(draft: Load, name: str) -> None:
    said = "\n".join(map(str, draft(MISTAKES[name][0]).problems)).lower()
    assert not any(word in said for word in ("input should", "pydantic", "validation error", "extra inputs"))


@pytest.mark.parametrize("name", MISTAKES)
def test_the_rest_of_a_broken_contract_still_loads(draft: Load, name: str) -> None:
    assert draft(MISTAKES[name][0]).contract is not None


TWELVE = """\
version: "1.2"
dataset: silver_orders
scource: { path: x }
source:
  path: landing/orders.csv
  load_mode: incremnetal
model:
  fields:
    - name: order_id
      type: strng
    - name: amount
      required: yes
    - name: state
      allowed_value: [open, closed]
    - type: date
transformations:
  - trimm: [state]
  - deduplicate: { on: [order_id], keep: newest }
quality:
  max_quarantine_ratio: 5
  row_rules:
    - sql: "amount > 0"
    - regex_match: { field: state }
compliance: { retention: 3 months }
materialization:
  strategy: merge
  target_path: lake/orders
"""


def test_twelve_mistakes_are_twelve_problems_at_their_lines(draft: Load) -> None:
    loaded = draft(TWELVE)
    found = [(problem.place.line, problem.code) for problem in loaded.problems if problem.place]
    assert found == [
        (1, "LL116"), (3, "LL110"), (6, "LL112"), (10, "LL117"), (12, "LL113"), (14, "LL110"), (15, "LL111"),
        (17, "LL110"), (18, "LL112"), (20, "LL114"), (23, "LL111"), (24, "LL115"), (26, "LL152"),
    ]  # fmt: skip
    assert all(problem.hint for problem in loaded.problems)


def test_what_is_sound_in_it_can_still_be_checked(draft: Load) -> None:
    loaded = draft(TWELVE).contract
    assert loaded is not None and loaded.materialization is not None
    assert [field.name for field in loaded.fields] == ["order_id", "amount", "state"]
    assert [step.kind for step in loaded.transformations] == ["deduplicate"]
    assert loaded.at("transformations.0.on").line == 18
    assert [rule.kind for rule in loaded.quality.row_rules] == ["sql"]
    assert loaded.materialization.target_path == "lake/orders"


def test_a_second_mistake_behind_the_first_is_found_too(draft: Load) -> None:
    problems = draft("model: { fields: [{ name: a, required: true, nullable: false, type: strng }] }").problems
    assert {problem.code for problem in problems} == {"LL118", "LL117"}


def test_load_contract_raises_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "orders.yaml"
    path.write_text(TWELVE)
    with pytest.raises(ContractError) as caught:
        load_contract(path)
    assert len(caught.value.problems) == 13 and caught.value.exit_code == 2
    assert f"{path}:3:1: LL110" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ContractError) as caught:
        load_contract(tmp_path / "none.yaml")
    assert [problem.code for problem in caught.value.problems] == ["LL101"]


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes(b"dataset: \xff\xfe")
    with pytest.raises(ContractError) as caught:
        load_contract(tmp_path / "c.yaml")
    assert [problem.code for problem in caught.value.problems] == ["LL101"]
