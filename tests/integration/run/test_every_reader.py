"""Whatever strategy Spark wrote a table by, delta-rs, DuckDB, Polars and Spark read the same rows (trap 29).

DuckDB's own Delta reader is an extension that must be fetched; here it reads through delta-rs, as our engine does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

from lakelogic import DataProcessor
from lakelogic.contract.readers import LACKING
from lakelogic.core.errors import CapabilityError

pytestmark = pytest.mark.spark

_CONTRACT = """\
dataset: rows
source: {{ path: landing, pattern: "*.csv", {source} }}
model:
  fields:
    - {{ name: id, type: {id}, required: true }}
    - {{ name: amount, type: "decimal(10,2)" }}
    - {{ name: day, type: date }}
    - {{ name: at, type: timestamp }}
{fields}
materialization:
  target_path: lake/rows
  strategy: {strategy}
{more}
"""
_NEW = "load_mode: incremental"
_EVENTS = "load_mode: cdc, cdc: {{ format: flat, operation_field: op, order_by: [at], deletes: {} }}"
_KEYED = "  primary_key: [id]"
_FIRST = """\
op,id,amount,day,at,more
I,1,1.50,2026-03-01,2026-03-01T10:00:00.123456Z,
I,2,-2,2026-03-01,2026-03-01T11:00:00+02:00,
I,3,,,2026-03-02T00:00:00Z,
I,x,4,2026-03-02,2026-03-02T00:00:00Z,
"""
_SECOND = """\
op,id,amount,day,at,more
U,1,9.99,2026-03-01,2026-03-03T10:00:00Z,x
D,2,,2026-03-01,2026-03-03T10:00:00Z,
I,4,4,2026-03-02,2026-03-03T10:00:00Z,y
I,,4,2026-03-02,2026-03-03T10:00:00Z,z
"""
# strategy: source, more of the materialization, and the ids that a reader must find
SITUATIONS: dict[str, tuple[str, str, str, list[int]]] = {
    "append": ("append", _NEW, "", [1, 1, 2, 2, 3, 4]),
    "overwrite_partitions": ("overwrite_partitions", _NEW, "  partition_by: [day]", [1, 2, 3, 4]),
    "snapshot": ("snapshot", "load_mode: full", "  partition_by: [snapshot_date]", [1, 1, 2, 2, 3, 4]),
    "merge": ("merge", _NEW, f"{_KEYED}\n  merge: {{ order_by: [at] }}", [1, 2, 3, 4]),
    "scd2": ("scd2", _NEW, f"{_KEYED}\n  scd2: {{ timestamp_field: at }}", [1, 1, 2, 2, 3, 4]),
    "cdc soft": ("cdc", _EVENTS.format("soft"), _KEYED, [1, 2, 3, 4]),
    "cdc hard": ("cdc", _EVENTS.format("hard"), _KEYED, [1, 3, 4]),
}


def _load(folder: Path, name: str, text: str, spark: Any) -> None:
    (folder / "landing").mkdir(exist_ok=True)
    (folder / "landing" / name).write_text(text)
    with DataProcessor(folder / "contract.yaml", spark=spark) as processor:
        assert processor.run().status == "succeeded"


def _by_query_engine(path: str) -> list[dict[str, Any]]:
    query = QueryBuilder().register("t", DeltaTable(path)).execute("SELECT * FROM t")
    return pa.table(query.read_all()).to_pylist()


def _by_duckdb(path: str) -> list[dict[str, Any]]:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection.from_arrow(DeltaTable(path).to_pyarrow_dataset()).to_arrow_table().to_pylist()


READERS: dict[str, Callable[[str], list[dict[str, Any]]]] = {
    "delta-rs": lambda path: DeltaTable(path).to_pyarrow_table().to_pylist(),
    "delta-rs query": _by_query_engine,
    "DuckDB": _by_duckdb,
    "Polars": lambda path: pl.read_delta(path).to_dicts(),
}


def _comparable(rows: list[dict[str, Any]]) -> Counter[str]:
    def plain(value: Any) -> Any:
        match value:
            case datetime():
                return value.astimezone(UTC).isoformat()
            case Decimal():
                return f"{value:f}"
            case list():
                return [plain(item) for item in value]
            case _:
                return value

    return Counter(str(sorted((key, plain(item)) for key, item in row.items())) for row in rows)


def _assert_all_agree(path: str, spark: Any) -> list[dict[str, Any]]:
    frame = spark.read.format("delta").load(path)
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    expected = _comparable(rows)
    for name, read in READERS.items():
        assert _comparable(read(path)) == expected, (name, path)
    return rows


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_reader_sees_the_rows_of_every_strategy(name: str, tmp_path: Path, spark_session: Any) -> None:
    strategy, source, more, ids = SITUATIONS[name]
    contract = tmp_path / "contract.yaml"
    contract.write_text(_CONTRACT.format(source=source, id="int", fields="", strategy=strategy, more=more))
    _load(tmp_path, "1.csv", _FIRST, spark_session)
    # The table has rows: its schema grows, and a column becomes wider.
    fields = "    - { name: more, type: string }"
    contract.write_text(_CONTRACT.format(source=source, id="long", fields=fields, strategy=strategy, more=more))
    _load(tmp_path, "2.csv", _SECOND, spark_session)
    rows = _assert_all_agree(str(tmp_path / "lake/rows"), spark_session)
    assert sorted(row["id"] for row in rows) == ids
    assert {"x", "y"} <= {row["more"] for row in rows}
    rejected = _assert_all_agree(str(tmp_path / "lake/rows_quarantine"), spark_session)
    assert len(rejected) >= 2


# What the table is made with, and the readers that cannot read it.
_ARROW, _ALL = {"delta-rs", "DuckDB"}, {"delta-rs", "DuckDB", "Polars"}
FEATURES: dict[str, tuple[str, set[str]]] = {
    "deletionVectors": ("TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')", _ARROW),
    "columnMapping": ("TBLPROPERTIES ('delta.columnMapping.mode' = 'name')", _ALL),
    "v2Checkpoint": ("TBLPROPERTIES ('delta.checkpointPolicy' = 'v2')", _ALL),
    "typeWidening": ("TBLPROPERTIES ('delta.enableTypeWidening' = 'true')", _ALL),
    "vacuumProtocolCheck": ("TBLPROPERTIES ('delta.feature.vacuumProtocolCheck' = 'supported')", _ALL),
    # These change what a writer must do, and nothing for a reader.
    "none": (
        "CLUSTER BY (id) TBLPROPERTIES ('delta.enableRowTracking' = 'true', 'delta.enableChangeDataFeed' = 'true', "
        "'delta.enableInCommitTimestamps' = 'true')",
        set(),
    ),
}


def test_validate_warns_of_exactly_the_features_that_readers_lack(tmp_path: Path, spark_session: Any) -> None:
    assert FEATURES.keys() - {"none"} == LACKING.keys()
    for feature, (clause, lacking) in FEATURES.items():
        path = str(tmp_path / feature)
        spark_session.sql(f"CREATE TABLE delta.`{path}` (id INT, v STRING) USING delta {clause}")
        spark_session.sql(f"INSERT INTO delta.`{path}` VALUES (1, 'a'), (2, 'b')")
        spark_session.sql(f"DELETE FROM delta.`{path}` WHERE id = 2")
        found = {name for name, read in READERS.items() if _fails(read, path)}
        assert found - {"delta-rs query"} == lacking, feature
        if lacking:
            # `to_pyarrow` would show NULLs under column mapping; our engine refuses instead.
            _assert_refused_by_duckdb(tmp_path, feature)
            said = {word for word in _ALL if word in LACKING[feature][1]}
            assert said == lacking, feature


def _fails(read: Callable[[str], list[dict[str, Any]]], path: str) -> bool:
    try:
        return read(path) != [{"id": 1, "v": "a"}]
    except Exception:  # noqa: BLE001  each library has its own
        return True


def _assert_refused_by_duckdb(folder: Path, feature: str) -> None:
    contract = folder / f"{feature}.yaml"
    contract.write_text(
        f"dataset: {feature}\nsource: {{ path: {feature}, format: delta }}\n"
        f"model: {{ fields: [{{ name: id, type: int }}] }}\nmaterialization: {{ target_path: lake/{feature} }}\n"
    )
    with (
        DataProcessor(contract, engine="duckdb") as processor,
        pytest.raises(CapabilityError, match="be read without Spark"),
    ):
        processor.run()
