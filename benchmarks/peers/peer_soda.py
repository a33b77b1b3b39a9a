"""Soda on DuckDB: each rule a check over the column; it says how many rows fail, not which ones.

The rows are written whole afterwards, as Parquet: the DuckDB that Soda asks for cannot write Delta.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
from common import measure, typed_columns
from soda.scan import Scan
from workload import CASTS

CHECKS = r"""
checks for orders:
  - invalid_count(amount) = 0: { name: amount, valid min: 0.01 }
  - invalid_count(quantity) = 0: { name: quantity, valid min: 1, valid max: 100 }
  - invalid_count(email) = 0: { name: email, valid regex: '^[^@ ]+@[^@ ]+\.[a-z]+$' }
  - invalid_count(customer_id) = 0: { name: customer_id, valid regex: '^C[0-9]{7}$' }
  - invalid_count(phone) = 0: { name: phone, valid regex: '^\+[0-9]{6,14}$' }
  - invalid_count(status) = 0: { name: status, valid values: [NEW, PAID, SHIPPED, DONE] }
  - invalid_count(country) = 0: { name: country, valid values: [DE, FR, GB, US, JP] }
  - early = 0: { name: order_date, early expression: "COUNT(CASE WHEN order_date < DATE '2020-01-01' THEN 1 END)" }
  - invalid_count(discount) = 0: { name: discount, valid min: 0, valid max: 90 }
  - invalid_count(note) = 0: { name: note, valid max length: 200 }
""" + "".join(f"  - missing_count({name}) = 0: {{ name: cast of {name} }}\n" for name in CASTS)


def job(path: str, out: Path) -> dict[str, Any]:
    with duckdb.connect() as connection:
        typed = ", ".join(typed_columns())
        connection.execute(f"CREATE VIEW orders AS SELECT {typed} FROM read_parquet('{path}')")
        scan = Scan()
        scan.add_duckdb_connection(connection)
        scan.set_data_source_name("duckdb")
        scan.disable_telemetry()
        scan.add_sodacl_yaml_str(CHECKS)
        scan.execute()
        if scan.has_error_logs():
            raise SystemExit(scan.get_error_logs_text())
        values = {each["name"]: each["diagnostics"]["value"] for each in scan.scan_results["checks"]}
        connection.execute(f"COPY orders TO '{out / 'orders.parquet'}' (FORMAT parquet)")
        (read,) = connection.execute("SELECT count(*) FROM orders").fetchone()
    return {"read": read, "failed": {name: value for name, value in values.items() if value}}


if __name__ == "__main__":
    measure("soda-core-duckdb", "duckdb", job, row_verdicts=False, writes="Parquet, all rows")
