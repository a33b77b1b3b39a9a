"""Small data needs no Spark: what a function handler imports, what it can do without, and the handlers themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.core.errors import RunError

REPO = Path(__file__).resolve().parents[3]
CONTRACT = """
version: 1.0.0
dataset: orders
source: {path: landing, format: csv, load_mode: incremental}
model: {fields: [{name: id, type: int, required: true}, {name: email}, {name: amount, type: "decimal(10,2)"}]}
quality: {row_rules: [{name: has_at, sql: "email LIKE '%@%'"}]}
materialization: {target_path: out/orders}
"""
ROWS = "id,email,amount\n1,a@b,1.5\n2,c@d,x\n3,e,1\n4,f@g,2\n"
# What a run on DuckDB can do without; each costs tens of milliseconds of a cold start, some of them a second. pandas
# comes with pyarrow.dataset wherever it is installed, and nothing of ours asks for it.
NOT_NEEDED = (
    "pyspark", "py4j", "delta", "polars", "pandas", "obstore", "fsspec", "confluent_kafka", "prometheus_client",
    "adbc_driver_postgresql", "pymysql", "hypothesis", "jinja2", "requests", "lakelogic.engine.spark",
    "lakelogic.engine.polars", "lakelogic.onboard", "lakelogic.report",
)  # fmt: skip
BLOCKER = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "contract.yaml").write_text(CONTRACT, encoding="utf-8")
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "one.csv").write_text(ROWS, encoding="utf-8")
    return tmp_path


def run_without(blocked: set[str], code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own in which some packages are not installed."""
    text = f"BLOCKED = {blocked!r}\n{BLOCKER}\n{code}"
    return subprocess.run(
        [sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False, timeout=240
    )


def test_an_event_without_a_key_is_no_wish_for_the_whole_folder(folder: Path) -> None:
    with (
        DataProcessor(folder / "contract.yaml", engine="duckdb") as processor,
        pytest.raises(RunError, match="is empty"),
    ):
        processor.run_source("")
    assert not (folder / "out").exists()


def test_everything_but_running_works_without_any_engine(folder: Path) -> None:
    code = """
import lakelogic, json
for name in lakelogic.__all__:
    getattr(lakelogic, name)
import lakelogic.cli.main
assert lakelogic.validate_contract("contract.yaml") == ()
try:
    lakelogic.DataProcessor("contract.yaml", engine="duckdb").run()
except lakelogic.RunError as error:
    print(json.dumps([error.problem.message, error.problem.hint]))
"""
    done = run_without({"pyspark", "py4j", "duckdb", "polars", "pandas", "numpy"}, code, folder)

    assert done.returncode == 0, done.stderr
    message, hint = json.loads(done.stdout)
    assert "engine `duckdb` needs the package" in message
    assert hint == "pip install 'lakelogic[duckdb]'"


def test_a_function_handler_loads_little_and_needs_no_spark(folder: Path) -> None:
    code = f"""
import json
import lakelogic
at_import = set(sys.modules)
result = lakelogic.DataProcessor("contract.yaml", engine="duckdb").run_source("landing/one.csv")
loaded = [name for name in {NOT_NEEDED!r} if name in sys.modules]
engines = [name for name in ("duckdb", "deltalake", "pyarrow", "sqlglot", "pydantic") if name in at_import]
counts = result.counts
print(json.dumps([loaded, engines, counts.read, counts.accepted, counts.quarantined]))
"""
    done = run_without({"pyspark", "py4j", "pandas", "polars"}, code, folder)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [[], [], 4, 2, 2]


def test_an_address_without_the_packages_for_stores_names_the_extra(folder: Path) -> None:
    code = """
import lakelogic
for engine in ("duckdb", "polars"):
    try:
        lakelogic.DataProcessor("contract.yaml", engine=engine).run_source("s3://b/one.csv")
    except lakelogic.RunError as error:
        print(error.problem.code, error.problem.hint)
"""
    done = run_without({"fsspec", "obstore"}, code, folder)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["LL475 pip install 'lakelogic[cloud]'"] * 2


def test_functions_that_start_at_once_all_load_their_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function = _azure_function(folder, monkeypatch)
    names = [f"file {n}+%20.csv" for n in range(4)]
    for n, name in enumerate(names):
        (folder / "landing" / name).write_text(f"id,email,amount\n{n},a@b,1\n", encoding="utf-8")
    events = [SimpleNamespace(name=f"landing-container/landing/{name}", length=1) for name in names]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(function.load_blob, [*events, *events]))

    from deltalake import DeltaTable

    rows = DeltaTable(folder / "out" / "orders").to_pyarrow_table().to_pylist()
    assert sorted(row["id"] for row in rows) == [0, 1, 2, 3]


def test_the_azure_function_loads_a_blob_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function = _azure_function(folder, monkeypatch)
    event = SimpleNamespace(name="landing-container/landing/one.csv", length=len(ROWS))

    function.load_blob(event)
    function.load_blob(event)  # the trigger may tell of a blob twice

    from deltalake import DeltaTable

    rows = DeltaTable(folder / "out" / "orders").to_pyarrow_table().to_pylist()
    assert sorted(row["id"] for row in rows) == [1, 4]
    assert function.app.triggers == [{"arg_name": "blob", "path": "landing-container/landing/{name}",
                                      "connection": "AzureWebJobsStorage", "source": "EventGrid"}]  # fmt: skip


def _azure_function(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The template, on a stand-in for the package that Azure has: an app that remembers its triggers."""

    class FunctionApp:
        def __init__(self) -> None:
            self.triggers: list[dict[str, Any]] = []

        def blob_trigger(self, **settings: Any) -> Any:
            self.triggers.append(settings)
            return lambda function: function

    functions = ModuleType("azure.functions")
    functions.__dict__.update(FunctionApp=FunctionApp, InputStream=object)
    azure = ModuleType("azure")
    azure.__dict__.update(functions=functions)
    monkeypatch.setitem(sys.modules, "azure", azure)
    monkeypatch.setitem(sys.modules, "azure.functions", functions)
    for name, value in {"CONTRACT": str(folder / "contract.yaml"), "ROOT": str(folder),
                        "CONTAINER": "landing-container/landing/{name}"}.items():  # fmt: skip
        monkeypatch.setenv(f"LAKELOGIC_{name}", value)
    spec = spec_from_file_location("function_app", REPO / "templates" / "azure_functions" / "function_app.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
