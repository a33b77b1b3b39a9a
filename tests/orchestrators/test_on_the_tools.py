"""The templates of Airflow, Dagster and Prefect, run by the tools on a copy of an example estate.

Each tool lives in an environment of its own, which `make templates` makes; without it these tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".cache" / "orchestrators"
TEMPLATE = {"airflow": "lakelogic_dag.py", "dagster": "lakelogic_assets.py", "prefect": "lakelogic_flow.py"}
# What each tool calls a run of the whole estate from the command line, in a folder that holds the template.
RUN = {
    "airflow": "airflow db migrate && python -c 'import sys, lakelogic_dag; "
    'sys.exit(str(lakelogic_dag.dag.test().state) != "success")\'',
    "dagster": "dagster job execute -f lakelogic_assets.py -j lakelogic",
    "prefect": "python lakelogic_flow.py",
}


@dataclass
class Site:
    """A folder with a copy of the estate and one tool's template."""

    folder: Path
    tool: str

    def run(self) -> subprocess.CompletedProcess[str]:
        return self._call(RUN[self.tool], path=f"{TOOLS / self.tool / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def datasets(self) -> dict[str, str]:
        """By dataset, how its last run ended."""
        program = Path(sys.executable).with_name("lakelogic")
        told = self._call(f"{program} runs estate/lakehouse --output json", path=os.environ["PATH"])
        runs = json.loads(told.stdout)
        return {run["dataset"]: run["status"] for run in reversed(runs)}

    def _call(self, command: str, path: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "DAGSTER"))}
        environ = {
            **kept,
            "PATH": path,
            "HOME": str(self.folder),
            "AIRFLOW_HOME": str(self.folder / "tool"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.folder),
            "DAGSTER_HOME": str(self.folder / "tool"),
            "PREFECT_HOME": str(self.folder / "tool"),
            "LAKELOGIC_COMMAND": str(Path(sys.executable).with_name("lakelogic-driver")),
            "LAKELOGIC_CONTRACTS": "estate/contracts",
            "LAKELOGIC_ENGINE": "duckdb",
        }
        return subprocess.run(
            command, shell=True, cwd=self.folder, env=environ, capture_output=True, text=True, check=False, timeout=280
        )


@pytest.fixture(params=sorted(TEMPLATE))
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    tool = request.param
    if not (TOOLS / tool / "bin" / "python").exists():
        pytest.skip(f"{tool} is not installed: make templates")
    ignore = shutil.ignore_patterns("lakehouse")
    shutil.copytree(ROOT / "examples" / "estate", tmp_path / "estate", ignore=ignore)
    shutil.copy(ROOT / "templates" / tool / TEMPLATE[tool], tmp_path)
    (tmp_path / "tool").mkdir()
    program = Path(sys.executable).with_name("lakelogic")
    graph = subprocess.run(
        [program, "dag", "estate/contracts", "--format", "json"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    (tmp_path / "estate.json").write_bytes(graph.stdout)
    return Site(tmp_path, tool)


def test_every_dataset_runs_after_what_it_builds_on(site: Site) -> None:
    done = site.run()
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    expected = [each["dataset"] for each in json.loads((site.folder / "estate.json").read_text())["datasets"]]
    assert site.datasets() == dict.fromkeys(expected, "succeeded")


def test_a_mistake_in_a_contract_fails_the_run_at_once(site: Site) -> None:
    contract = site.folder / "estate/contracts/silver/customers.yaml"
    contract.write_text(contract.read_text() + "\nunknown_key: 1\n")
    done = site.run()
    assert done.returncode != 0
    assert "exit code 2" in done.stdout + done.stderr
