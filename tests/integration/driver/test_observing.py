"""Who else hears of a pipeline run: all outputs of one run tell the same, and none of them can fail the data."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import duckdb
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.integration.driver.estates import write_estate

from lakelogic.cli.main import main
from lakelogic.cli.observing import MetricsBackendName, ObservingOptions, linger, observing
from lakelogic.core.settings import Settings
from lakelogic.driver import worker
from lakelogic.driver.estate import read_estate
from lakelogic.driver.load_many import Wanted
from lakelogic.driver.outputs import Served, Silent
from lakelogic.driver.pipeline import Order, Prepared, prepare, run_pipeline
from lakelogic.driver.select import Selection
from lakelogic.driver.story import Story
from lakelogic.driver.worker import Request
from lakelogic.observe.prometheus import MetricsServer
from lakelogic.record.summary_schema import SUMMARY_SCHEMA

SETTINGS = Settings(engine="duckdb")
REQUEST = Request(SETTINGS)
STATUSES = {
    "ref_countries": "succeeded",
    "bronze_e000": "succeeded",
    "silver_e000": "succeeded",
    "gold_e000": "succeeded",
    "bronze_e001": "failed",
    "silver_e001": "skipped",
    "gold_e001": "skipped",
}


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Seven contracts, of which one cannot read what it should."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    registry = write_estate(tmp_path, 2)
    broken = tmp_path / "contracts" / "bronze_e001.yaml"
    text = broken.read_text().replace("load_mode: incremental }", "load_mode: incremental, on_empty: fail }")
    broken.write_text(text.replace('e001"', 'none"', 1))
    return registry


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["lakelogic", "pipeline", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(str(ended.value.code)), captured.out, captured.err

    return call


def ready(registry: Path) -> Prepared:
    estate = read_estate([registry], settings=SETTINGS)
    return prepare(estate, Selection(), REQUEST, Order(), Wanted())


def test_every_output_tells_the_same_story_of_a_run_that_failed(registry: Path, driver: Any) -> None:
    silver_file = registry.parent / "silver_e000.yaml"
    small = ', { name: small, sql: "amount < 0", severity: warning }] }'
    silver_file.write_text(silver_file.read_text().replace('sql: "amount > 0" }] }', f'sql: "amount > 0" }}{small}'))
    code, out, err = driver(
        "--registry", "contracts/_registry.yaml", "--engine", "duckdb", "--continue-on-error", "--output", "json",
        "--summary-path", "out/run.json", "--metrics-path", "out/deep/metrics.json",
        "--summary-table", "lakelogic.pipeline_runs", "--summary-backend", "duckdb",
        "--summary-database", "out/logs/runs.duckdb", "--report", "junit=out/junit.xml", "--report", "github",
    )  # fmt: skip
    assert code == 4
    printed = json.loads(out)
    assert {each["dataset"]: each["status"] for each in printed["contracts"]} == STATUSES

    summary = json.loads(Path("out/run.json").read_text())
    assert (summary["run_id"], summary["status"], summary["exit_code"]) == (printed["run_id"], "failed", 4)
    assert {each["dataset"]: each["status"] for each in summary["contracts"]} == STATUSES
    told = {each["dataset"]: each for each in summary["contracts"]}
    silver = told["silver_e000"]
    assert (silver["rows_read"], silver["rows_accepted"], silver["rows_quarantined"]) == (3, 2, 1)
    assert silver["failed_rules"] == [{"name": "positive", "failed": 1}], "a warning sets no row aside"
    assert (silver["layer"], silver["domain"], silver["needs"]) == ("silver", "sales", ["ref_countries", "bronze_e000"])
    assert told["bronze_e001"]["error"]["code"] == "LL430"
    assert "upstream `bronze_e001` failed" in told["gold_e001"]["reason"]
    assert told["gold_e001"]["started_at"] is None

    with duckdb.connect("out/logs/runs.duckdb", read_only=True) as connection:
        rows = connection.execute("SELECT dataset, status, pipeline_run_id FROM lakelogic.pipeline_runs").fetchall()
    assert {(dataset, status, printed["run_id"]) for dataset, status in STATUSES.items()} == set(rows)
    assert len(rows) == 7

    metrics = {
        family["name"]: family["samples"] for family in json.loads(Path("out/deep/metrics.json").read_text())["metrics"]
    }
    ratios = {each["labels"]["dataset"]: each["value"] for each in metrics["lakelogic_quarantine_ratio"]}
    assert ratios == {"ref_countries": 0, "bronze_e000": 0, "silver_e000": 1 / 3, "gold_e000": 0}

    suite = Xml.parse("out/junit.xml").getroot().find("testsuite")
    assert suite is not None
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["7", "1", "2"]
    annotations = [line for line in err.splitlines() if line.startswith("::")]
    assert [line.partition(" ")[0] for line in annotations] == ["::error", "::warning", "::warning"]
    assert annotations[0].startswith("::error file=contracts/bronze_e001.yaml,line=")


class Scraper(Silent):
    """Reads /metrics at certain moments, as Prometheus would."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.seen: dict[str, dict[str, float]] = {}

    def scrape(self) -> dict[str, float]:
        assert self.served.server is not None
        with urllib.request.urlopen(f"http://127.0.0.1:{self.served.server.port}/metrics", timeout=60) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=")
            text = answer.read().decode()
        assert "# HELP lakelogic_rows_read " in text and "# TYPE lakelogic_rows_read gauge" in text
        return {
            f"{sample.name} {sample.labels.get('dataset', '')} {sample.labels.get('status', '')}": sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def contract_began(self, dataset: str, at: datetime) -> None:
        self.seen[dataset] = self.scrape()


def test_prometheus_scrapes_during_and_after_a_run(registry: Path) -> None:
    options = ObservingOptions(metrics_backend=MetricsBackendName.PROMETHEUS, metrics_port=0)
    before = set(threading.enumerate())
    with observing(options, SETTINGS) as observed:
        scraper = Scraper(next(each for each in observed.watchers if isinstance(each, Served)))
        order = Order(max_workers=1, continue_on_error=True)
        run_pipeline(ready(registry), REQUEST, order, watchers=[*observed.watchers, scraper])
        after = scraper.scrape()
    during = scraper.seen["silver_e000"]
    assert during["lakelogic_pipeline_running  "] == 1
    assert during["lakelogic_contracts  running"] == 1
    assert during["lakelogic_rows_read bronze_e000 succeeded"] == 3
    assert "lakelogic_contract_duration_seconds silver_e000 running" in during
    assert "lakelogic_rows_read silver_e000 succeeded" not in during
    assert after["lakelogic_pipeline_running  "] == 0
    assert after["lakelogic_rows_quarantined silver_e000 succeeded"] == 1
    assert after["lakelogic_runs gold_e001 skipped"] == 0
    assert after["lakelogic_contracts  failed"] == 1
    assert 0 <= after["lakelogic_freshness_seconds gold_e000 succeeded"] < 300
    assert "lakelogic_freshness_seconds bronze_e001 failed" not in after
    assert [thread for thread in set(threading.enumerate()) - before if "serve_forever" in thread.name] == []


def test_statsd_gets_packets(registry: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(0)
        options = ObservingOptions(
            metrics_backend=MetricsBackendName.STATSD, metrics_port=receiver.getsockname()[1], metrics_path="m.prom"
        )
        with observing(options, SETTINGS) as observed:
            order = Order(max_workers=1, continue_on_error=True)
            run_pipeline(ready(registry), REQUEST, order, watchers=observed.watchers)
        lines = "\n".join(packet.decode() for packet in received(receiver)).split("\n")
    tags = "#dataset:silver_e000,layer:silver,domain:sales,status:succeeded"
    assert f"lakelogic.rows_quarantined:1|c|{tags}" in lines
    assert "lakelogic.pipelines:1|c|#status:failed" in lines
    assert "lakelogic_rows_read{" in Path("m.prom").read_text()


def received(receiver: socket.socket) -> Iterator[bytes]:
    while True:
        try:
            yield receiver.recv(65536)
        except BlockingIOError:
            return


def test_dead_endpoints_are_warnings_and_leave_the_exit_code_alone(registry: Path, driver: Any) -> None:
    Path("file").write_text("in the way")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, err = driver(
            "contracts", "--engine", "duckdb", "--quiet", "--select", "+gold_e000",
            "--summary-path", "file/run.json", "--metrics-path", "file/m.json", "--report", "junit=file/j.xml",
            "--summary-table", "lakelogic.runs", "--summary-backend", "postgres",
            "--summary-database", f"postgresql://me:needle-1234@127.0.0.1:{closed_port()}/runs",
            "--metrics-backend", "prometheus", "--metrics-port", str(taken.getsockname()[1]),
        )  # fmt: skip
    assert code == 0, err
    warnings = [line.partition("WARNING | ")[2] for line in err.splitlines() if "WARNING" in line]
    ours = [line for line in warnings if "the pipeline goes on without it" in line]
    assert len(ours) == 5, err
    assert any("Address already in use" in line for line in ours)
    assert any("`lakelogic.runs` (postgres) could not be written" in line for line in ours)
    assert sum("`file/" in line and "cannot be written: " in line for line in ours) == 3
    assert "needle" not in err


def closed_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_mistakes_before_the_run_are_reported_and_an_old_summary_does_not_stay(registry: Path, driver: Any) -> None:
    Path("run.json").write_text("{}")
    contract = Path("contracts/gold_e000.yaml")
    contract.write_text(contract.read_text().replace("[silver_e000]", "[silver_e999]"))
    options = ("--summary-path", "run.json", "--report", "junit=j.xml", "--report", "github")
    code, _, err = driver("contracts", "--engine", "duckdb", *options)
    assert code == 2
    summary = json.loads(Path("run.json").read_text())
    assert (summary["status"], summary["exit_code"], summary["contracts"]) == ("refused", 2, [])
    assert [problem["code"] for problem in summary["problems"]] == ["LL172"]
    assert Xml.parse("j.xml").getroot().get("failures") == "1"
    assert "::error file=contracts/gold_e000.yaml,line=2,col=12,title=LL172::" in err


def test_an_interrupted_run_leaves_its_summary(registry: Path, driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = worker.run_member

    def stop_at_silver(contract: Any, *arguments: Any) -> Any:
        if contract.dataset == "silver_e000":
            raise KeyboardInterrupt
        return real(contract, *arguments)

    monkeypatch.setattr("lakelogic.driver.pipeline.run_member", stop_at_silver)
    code, _, _ = driver(
        "contracts", "--engine", "duckdb", "--select", "+gold_e000", "--max-workers", "1", "--summary-path", "run.json"
    )
    assert code == 130
    summary = json.loads(Path("run.json").read_text())
    assert (summary["status"], summary["exit_code"]) == ("interrupted", None)
    assert {each["dataset"]: each["status"] for each in summary["contracts"]} == {
        "ref_countries": "succeeded", "bronze_e000": "succeeded", "silver_e000": "interrupted", "gold_e000": "skipped",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--summary-table", "runs"], "--summary-database"),
        (["--summary-backend", "duckdb"], "--summary-table"),
        (["--summary-table", "a b", "--summary-database", "x"], "SCHEMA.NAME"),
        (["--metrics-port", "1"], "--metrics-backend"),
        (["--metrics-linger", "3"], "prometheus"),
        (["--report", "html"], "junit=FILE"),
        (["--report", "junit="], "junit=FILE"),
        (["--metrics-backend", "graphite"], "prometheus"),
    ],
)
def test_options_that_make_no_sense_are_refused_first(driver: Any, options: list[str], told: str) -> None:
    code, out, err = driver("contracts", *options)
    assert (code, out) == (2, "")
    assert told in err


def test_the_reference_names_every_column_of_the_table() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "reference" / "pipeline_outputs.md"
    text = page.read_text(encoding="utf-8")
    assert [name for name in SUMMARY_SCHEMA.names if f"| `{name}` |" not in text] == []


def test_a_process_serves_its_numbers_until_it_is_told_to_end(registry: Path, tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "lakelogic", "pipeline", "contracts", "--engine", "duckdb", "--select", "+gold_e000",
        "--metrics-backend", "prometheus", "--metrics-port", "0", "--metrics-linger", "250",
    ]  # fmt: skip
    log = tmp_path / "log"
    with log.open("w") as stderr:
        process = subprocess.Popen(command, stderr=stderr, stdout=subprocess.DEVNULL)
    try:
        address = patiently(lambda: re.search(r"http://127\.0\.0\.1:\d+/metrics", log.read_text()), process)[0]
        patiently(lambda: "lakelogic_pipeline_running 0.0" in scraped(address), process)
        families = {family.name: family.samples for family in text_string_to_metric_families(scraped(address))}
        assert [sample.labels["status"] for sample in families["lakelogic_pipeline_info"]] == ["succeeded"]
        assert {sample.labels["dataset"]: sample.value for sample in families["lakelogic_rows_read"]} == {
            "ref_countries": 2, "bronze_e000": 3, "silver_e000": 3, "gold_e000": 2,
        }  # fmt: skip
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def patiently(look: Callable[[], Any], process: subprocess.Popen[bytes]) -> Any:
    """What `look` finds, as soon as it finds something; a process that ends is not waited for."""
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        if found := look():
            return found
        assert process.poll() is None, "the process has ended"
        time.sleep(0.2)
    raise AssertionError("it took too long")


def scraped(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as answer:
        text: str = answer.read().decode()
    return text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_waiting_and_nothing_else(number: signal.Signals) -> None:
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")
    served = Served(Story(), "127.0.0.1", 0)
    served.server = MetricsServer(lambda: (), "127.0.0.1", 0)
    before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
    sender = threading.Thread(target=send_when_awaited, args=(number, signal.getsignal(number)), daemon=True)
    sender.start()
    begun = time.monotonic()
    linger(served, 250)
    assert time.monotonic() - begun < 200
    assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)] == before
    served.close()


def send_when_awaited(number: signal.Signals, before: Any) -> None:
    """Only when somebody waits for it: else it would end the tests."""
    while signal.getsignal(number) is before:
        time.sleep(0.01)
    os.kill(os.getpid(), number)


def test_a_contract_that_is_run_alone_tells_of_itself_too(
    registry: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(contract: str, *options: str) -> int:
        outputs = (
            "--summary-path",
            "s.json",
            "--metrics-path",
            "m.json",
            "--report",
            "junit=j.xml",
            "--report",
            "github",
        )
        monkeypatch.setattr(sys, "argv", ["lakelogic", "run", contract, "--engine", "duckdb", *outputs, *options])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(str(ended.value.code))

    assert run("contracts/bronze_e000.yaml") == 0
    (told,) = json.loads(Path("s.json").read_text())["contracts"]
    assert (told["dataset"], told["status"], told["rows_read"]) == ("bronze_e000", "succeeded", 3)
    assert "lakelogic_rows_read" in Path("m.json").read_text()
    assert "::" not in capsys.readouterr().err
    assert run("contracts/bronze_e001.yaml") == 4
    assert Xml.parse("j.xml").getroot().get("failures") == "1"
    assert "::error file=contracts/bronze_e001.yaml,line=" in capsys.readouterr().err
    Path("contracts/bronze_e000.yaml").write_text("dataset: bronze_e000\nsource: { pat: x }\n")
    assert run("contracts/bronze_e000.yaml") == 2
    summary = json.loads(Path("s.json").read_text())
    assert (summary["status"], summary["exit_code"]) == ("refused", 2)
    assert "::error file=contracts/bronze_e000.yaml,line=2,col=" in capsys.readouterr().err
