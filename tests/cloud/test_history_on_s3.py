"""A history whose table and store lie on S3, written by DuckDB and Polars in turn."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.cloud.support import Estate

from lakelogic.storage.files import walk_files

CONTRACT = """\
dataset: orders
source: {{ path: "{root}/landing/", pattern: "*.csv", load_mode: incremental }}
model:
  fields:
    - {{ name: order_id, type: long }}
    - {{ name: state, type: string }}
    - {{ name: at, type: timestamp }}
materialization:
  strategy: scd2
  target_path: "{root}/lake/orders"
  primary_key: [order_id]
  merge: {{ delete_when: "state = 'gone'" }}
  scd2: {{ timestamp_field: at }}
"""
FIRST = "order_id,state,at\n1,new,2024-01-01\n1,new,2024-01-03\n2,new,2024-01-01\n2,gone,2024-01-04\n"
# Late rows, which come out right only with what the store remembers.
SECOND = "order_id,state,at\n1,sent,2024-01-02\n2,new,2024-01-02\n"


def test_a_history_on_a_store_remembers(estate: Estate) -> None:
    estate.contract.write_text(CONTRACT.format(root=estate.root))
    for name, text, engine in (("1.csv", FIRST, "duckdb"), ("2.csv", SECOND, "polars")):
        estate.drop(name, text)
        assert replace(estate, engine=engine).run().status == "succeeded"
    rows = [json.loads(row) for row in estate.rows("orders").elements()]
    names = ("order_id", "version", "state", "valid_from", "valid_to")
    assert sorted(tuple(str(row[name])[:10] for name in names) for row in rows) == [
        ("1", "1", "new", "2024-01-01", "2024-01-02"),
        ("1", "2", "sent", "2024-01-02", "2024-01-03"),
        ("1", "3", "new", "2024-01-03", "9999-12-31"),
        ("2", "1", "new", "2024-01-01", "2024-01-04"),
    ]
    assert [file.path for file in walk_files(f"{estate.root}/lake/orders") if "-history-" in file.path] == []
