"""Change events as a real Debezium wrote them, bare and wrapped, with broken ones between."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars
import pytest
from deltalake import DeltaTable

from lakelogic.core.settings import Settings
from lakelogic.run.processor import DataProcessor
from lakelogic.table.sample import read_rows

_DATA = Path(__file__).parents[2] / "data" / "debezium"
_CONTRACT = """
version: "1.0.0"
dataset: customers
source: { path: landing, format: jsonl, load_mode: cdc }
model:
  fields:
    - { name: customer_id, type: long, required: true }
    - { name: name, type: string, required: true }
    - { name: email, type: string, pii: true }
    - { name: tier, type: string }
    - { name: balance, type: "decimal(12,2)" }
    - { name: born, type: string }
    - { name: notes, type: string }
    - { name: updated_at, type: timestamp }
    - { name: phone, type: string }
schema_policy: { unknown_fields: quarantine }
quality:
  row_rules: [{ name: tier is known, sql: "tier IN ('gold', 'silver', 'bronze', 'platinum')" }]
materialization:
  strategy: cdc
  target_path: lake/customers
  primary_key: [customer_id]
  soft_delete: { column: is_deleted, time_column: deleted_at, reason_column: why }
"""
_BROKEN = (
    '{"op":"x","after":{"customer_id":50},"source":{"lsn":1}}',
    '{"after":{"customer_id":51},"source":{"lsn":1}}',
    '{"op":"u","after":null,"source":{"lsn":1}}',
    '{"op":"d","before":null,"source":{"lsn":1}}',
    '{"op":"d","before":{"name":"no key"},"source":{"lsn":1}}',
    '{"op":"c","after":{"customer_id":52,"name":"bad","tier":"tin"},"source":{"lsn":1}}',
    '{"op":"c","after":{"customer_id":53,"name":"new","shoe":42},"source":{"lsn":1}}',
    "not json",
)


# Which fields of an image are new only Spark can tell: it has maps.
_STRANGERS = ("schema_policy: { unknown_fields: quarantine }\n", _BROKEN[6], ("Unknown columns in `after`",))


def _run(folder: Path, engine: str, spark: Any) -> Any:
    with DataProcessor(folder / "contract.yaml", engine, spark, settings=Settings()) as processor:
        return processor.run()


@pytest.mark.spark
def test_a_table_follows_a_real_postgresql_through_debezium(tmp_path: Path, spark_session: Any) -> None:
    _follow(tmp_path, "spark", spark_session)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_table_follows_a_real_postgresql_through_debezium_without_spark(engine: str, tmp_path: Path) -> None:
    _follow(tmp_path, engine, None)


def _follow(tmp_path: Path, engine: str, spark: Any) -> None:
    policy, stranger, told = _STRANGERS if engine != "spark" else ("", "", ())
    broken = [line for line in _BROKEN if line != stranger]
    lines = (_DATA / "values.jsonl").read_text(encoding="utf-8").splitlines()
    # Two batches across both partitions; the second comes in the `{schema, payload}` form, and one part of it again.
    later = [n for n in range(len(lines)) if n == 8 or n >= 13]
    wrapped = [f'{{"schema":{{"type":"struct"}},"payload":{lines[n]}}}' for n in [*later, 14, 8]]
    landing = tmp_path / "landing"
    landing.mkdir()
    (tmp_path / "contract.yaml").write_text(_CONTRACT.replace(policy, ""), encoding="utf-8")
    first = [line for n, line in enumerate(lines) if n not in later]
    (landing / "1.jsonl").write_text("\n".join([*first, *broken]) + "\n", encoding="utf-8")
    result = _run(tmp_path, engine, spark)
    assert (result.counts.read, result.counts.quarantined) == (len(first) + len(broken), len(broken))
    (landing / "2.jsonl").write_text("\n".join(wrapped) + "\n", encoding="utf-8")
    result = _run(tmp_path, engine, spark)
    assert (result.counts.quarantined, result.changes.deleted) == (0, 0)

    target = str(tmp_path / "lake" / "customers")
    rows = read_rows(target).rows
    alive = {row["customer_id"]: row for row in rows if not row["is_deleted"]}
    wanted = [json.loads(line, parse_float=Decimal) for line in (_DATA / "customers.jsonl").read_text().splitlines()]
    same = ("name", "email", "tier", "notes", "phone")
    assert {key: [row[n] for n in same] for key, row in alive.items()} == {
        row["customer_id"]: [row[n] for n in same] for row in wanted
    }
    assert {k: row["balance"] for k, row in alive.items()} == {row["customer_id"]: row["balance"] for row in wanted}
    gone = {row["customer_id"]: (row["name"], row["why"]) for row in rows if row["is_deleted"]}
    assert gone == {2: ("Béla", "delete"), 3: ("Chen", "delete"), 90: ("Gone by truncate", "truncate")}
    assert all(row["deleted_at"] is not None for row in rows if row["is_deleted"])
    _assert_reasons(tmp_path, told)
    _assert_readable(target, len(rows))


def _assert_reasons(folder: Path, but: tuple[str, ...]) -> None:
    bad = read_rows(str(folder / "lake" / "customers_quarantine")).rows
    reasons = sorted(tuple(row["_lakelogic_errors"]) for row in bad)
    wanted = [
        ("Change event: `after` is there", "Rule failed: customer_id is required", "Rule failed: name is required"),
        ("Change event: `before` is there", "Rule failed: customer_id is required"),
        ("Change event: the operation is known",),
        ("Change event: the operation is known",),
        ("Malformed: not valid JSON",),
        ("Rule failed: customer_id is required",),
        ("Rule failed: tier IN ('gold', 'silver', 'bronze', 'platinum')",),
        ("Unknown columns in `after`",),
    ]
    assert reasons == [reason for reason in wanted if reason != but]
    assert all("ada@" not in str(row["after"]) for row in bad)


def _assert_readable(target: str, rows: int) -> None:
    """Every reader shows the same rows."""
    assert DeltaTable(target).to_pyarrow_table().num_rows == rows
    assert polars.read_delta(target).height == rows
    files = DeltaTable(target).file_uris()
    assert duckdb.sql(f"SELECT count(*) FROM read_parquet({files})").fetchall() == [(rows,)]
