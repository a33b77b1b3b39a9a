"""The insurance example in a folder of a test's own, and the commands that the driver's documentation shows for it."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import util
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic.record.run_log import RunRecord, read_runs

REPO = Path(__file__).resolve().parents[2]
EXAMPLE = "examples/insurance_elt"
REGISTRY = f"--registry {EXAMPLE}/contracts/insurance/_registry.yaml"
ALL_REGISTRIES = f"""{REGISTRY} \
--reference-registry {EXAMPLE}/contracts/shared/reference/_registry.yaml \
--gold-registry {EXAMPLE}/contracts/insurance/warehouse/_registry.yaml"""

# As documented, word for word; the tests add nothing but settings in the environment.
BASIC = f"lakelogic-driver {ALL_REGISTRIES} --layers reference,bronze,silver,gold --window last_success"
ONE_ENTITY = f"lakelogic-driver {ALL_REGISTRIES} --layers bronze,silver,gold --entities policies"
ONE_FILE = f"""lakelogic-driver {REGISTRY} --layers bronze \
--set source.path={EXAMPLE}/data/bronze --set source.pattern="claims_cdc_2026-02-06.csv" """
RANGE = f"""lakelogic-driver {ALL_REGISTRIES} --layers bronze,silver,gold \
--window range --window-start-date 2026-02-01 --window-end-date 2026-02-05"""
BACKFILL = f"""lakelogic-driver {REGISTRY} --layers bronze,silver \
--backfill-start-date 2026-02-01 --backfill-end-date 2026-02-07 --backfill-granularity day"""
REPROCESS = f"""lakelogic-driver {ALL_REGISTRIES} --layers silver,gold \
--reprocess-start-date 2026-02-01 --reprocess-end-date 2026-02-05"""

RESUME = f"""lakelogic-driver {REGISTRY} --layers bronze,silver,gold \
--state-path logs/driver_state.json --resume"""
OBSERVED = f"""{BASIC} --summary-table lakelogic.pipeline_runs --summary-backend duckdb \
--summary-database {EXAMPLE}/output/run_logs/lakelogic_pipeline_runs.duckdb \
--metrics-path {EXAMPLE}/output/run_logs/pipeline_metrics.json"""
POLICY_PACK = f"""lakelogic-driver {REGISTRY} --layers silver \
--policy-pack baseline_silver --policy-pack-dir policy_packs"""
APPROVAL = f"""lakelogic-driver {REGISTRY} --layers gold \
--approval-required --approval-file approvals/2026-02-06.ok"""
CACHED = f"lakelogic-driver {REGISTRY} --layers silver --cache-references"
SCRAPED = f"""lakelogic-driver {ALL_REGISTRIES} \
--metrics-backend prometheus --metrics-host 0.0.0.0 --metrics-port 9100"""

BOOTSTRAP = f"""lakelogic bootstrap --landing {EXAMPLE}/data/bronze --output-dir {EXAMPLE}/bootstrap_contracts \
--registry {EXAMPLE}/bootstrap_contracts/_registry.yaml --format csv --pattern "*.csv" """

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Estate:
    """A copy of the example."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch

    @property
    def example(self) -> Path:
        return self.folder / EXAMPLE

    @property
    def landing(self) -> Path:
        return self.example / "data" / "bronze"

    def run(self, line: str) -> int:
        """Carry out a command line in this process, in the folder; gives the exit code."""
        from lakelogic.cli.driver import main as driver
        from lakelogic.cli.main import main as lakelogic

        program, *arguments = shlex.split(line)
        with self.monkeypatch.context() as patch, redirect_stdout(StringIO()):
            patch.chdir(self.folder)
            patch.setattr(sys, "argv", [program, *arguments])
            with pytest.raises(SystemExit) as ended:
                (driver if program == "lakelogic-driver" else lakelogic)()
        return int(ended.value.code or 0)

    def rows(self, table: str) -> Counter[Row]:
        """What a reader sees of a table: every row, without the stamps of the run that wrote it."""
        path = self.example / "output" / "lakehouse" / table
        if not (path / "_delta_log").exists():
            return Counter()
        read = DeltaTable(str(path)).to_pyarrow_table()
        names = sorted(name for name in read.column_names if not name.startswith("_lakelogic_"))
        columns = [[_plain(value) for value in read.column(name).to_pylist()] for name in names]
        return Counter(zip(*columns, strict=True))

    def runs(self, dataset: str) -> list[RunRecord]:
        """What the run log has of a dataset, the newest first."""
        folders = (self.example / "output" / "lakehouse").glob("*/_lakelogic")
        found = (read_runs(str(folder), dataset=dataset, limit=None) for folder in folders)
        return sorted((run for runs in found for run in runs), key=lambda run: run.started_at, reverse=True)

    def version(self, table: str) -> int:
        return DeltaTable(str(self.example / "output" / "lakehouse" / table)).version()

    def edit(self, contract: str, old: str, new: str) -> None:
        """Change the text of a contract."""
        file = self.example / "contracts" / "insurance" / contract
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")

    def column(self, table: str, name: str) -> list[Any]:
        """The values of one column."""
        path = self.example / "output" / "lakehouse" / table
        values: list[Any] = DeltaTable(str(path)).to_pyarrow_table().column(name).to_pylist()
        return values

    def tables(self) -> dict[str, Counter[Row]]:
        """All tables but the quarantines, which tell what each run rejected."""
        lake = self.example / "output" / "lakehouse"
        found = sorted(log.parent.relative_to(lake).as_posix() for log in lake.glob("*/*/_delta_log"))
        return {name: self.rows(name) for name in found if not name.endswith("_quarantine")}


def _plain(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def copy_estate(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Estate:
    """The example without what runs of it left."""
    ignored = shutil.ignore_patterns("output", "bootstrap_contracts", "__pycache__")
    shutil.copytree(REPO / EXAMPLE, folder / EXAMPLE, ignore=ignored)
    shutil.rmtree(folder / EXAMPLE / "data" / "bronze", ignore_errors=True)
    shutil.copytree(REPO / "policy_packs", folder / "policy_packs")
    return Estate(folder, monkeypatch)


def generator() -> Any:
    """The generator of the example, which is no package."""
    spec = util.spec_from_file_location("insurance_generate", REPO / EXAMPLE / "generate.py")
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
