"""A contract over a table of a real database, and the Delta table that it fills."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from lakelogic import DataProcessor, RunResult
from lakelogic.engine.protocol import Engine
from lakelogic.engine.registry import open_engine

ADDRESS = "LAKELOGIC_TEST_DATABASE"  # the variable that contracts name


@dataclass
class Estate:
    """Where one test runs its contract, and on what."""

    folder: Path
    engine: str = "duckdb"
    spark: Any = None
    contract: str = field(default="", repr=False)
    opened: Engine | None = None

    def declare(self, text: str) -> None:
        self.contract = text
        (self.folder / "contract.yaml").write_text(text)

    def run(self, *overrides: str, **options: Any) -> RunResult:
        path = self.folder / "contract.yaml"
        if self.spark is None and self.opened is None:
            self.opened = open_engine(self.engine)
        processor = DataProcessor(path, engine=self.engine, spark=self.spark, overrides=overrides)
        processor._engine = self.opened  # one for all runs of a test: starting it costs more than a run
        return processor.run(**options)

    def rows(self, *columns: str, table: str = "lake/out") -> list[tuple[Any, ...]]:
        found = DeltaTable(self.folder / table).to_pyarrow_table(columns=list(columns) or None).to_pylist()
        return sorted((tuple(row.values()) for row in found), key=repr)

    def rejected(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = DeltaTable(self.folder / "lake" / "out_quarantine").to_pyarrow_table().to_pylist()
        return rows
