"""What a pipeline costs beyond its own work: an estate of small contracts over four layers, against one PySpark script.

python benchmarks/estate.py --contracts 300 --engine spark --workers 4     # the bars: validate 3 s, 1.5 s per contract
python benchmarks/estate.py --contracts 60 --engine duckdb                 # without the script to compare with

One Bronze has no source: exactly its descendants must be held back. The script does the same reads, joins, checks and
writes by hand, in as many threads, on the same Spark application.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loguru import logger

from lakelogic.core.settings import read_settings
from lakelogic.driver.estate import read_estate
from lakelogic.driver.load_many import Wanted
from lakelogic.driver.outcome import PipelineResult
from lakelogic.driver.pipeline import Order, Prepared, prepare, run_pipeline
from lakelogic.driver.select import Selection
from lakelogic.driver.worker import Request
from lakelogic.record.run_log import read_runs

ROWS = 200
BROKEN = "e001"
WARM_UP = 9
REFERENCE = """\
dataset: ref_countries
info: { target_layer: reference }
source: { path: "${storage.landing}/countries.csv", load_mode: incremental }
model: { fields: [{ name: code, type: string, required: true }, { name: name, type: string }] }
materialization: { target_path: "${storage.lake}/ref_countries" }
"""
BRONZE = """\
dataset: bronze_%(name)s
info: { target_layer: bronze }
source: { path: "${storage.landing}/%(name)s", pattern: "*.csv", load_mode: incremental }
model: { fields: [{ name: id, type: long }, { name: country, type: string }, { name: amount, type: int }] }
materialization: { target_path: "${storage.lake}/bronze_%(name)s" }
"""
SILVER = """\
dataset: silver_%(name)s
info: { target_layer: silver }
source: { path: "${storage.lake}/bronze_%(name)s", format: delta, load_mode: incremental }
links: [{ name: countries, dataset: ref_countries }]
model:
  fields:
    - { name: id, type: long, required: true }
    - { name: country, type: string }
    - { name: amount, type: int }
    - { name: country_name, type: string }
transformations:
  - lookup: { field: country_name, reference: countries, on: country, key: code, value: name, default: Unknown }
quality: { row_rules: [{ name: positive, sql: "amount > 0" }] }
materialization: { target_path: "${storage.lake}/silver_%(name)s" }
"""
GOLD = """\
dataset: gold_%(name)s
info: { target_layer: gold }
source: { path: "${storage.lake}/silver_%(name)s", format: delta, load_mode: incremental }
model: { fields: [{ name: id, type: long }, { name: country_name, type: string }, { name: amount, type: int }] }
materialization: { target_path: "${storage.lake}/gold_%(name)s" }
"""


@dataclass(frozen=True)
class Generated:
    """An estate on disk."""

    folder: Path
    names: tuple[str, ...]  # of the entities

    @property
    def contracts(self) -> int:
        return 1 + 3 * len(self.names)

    @property
    def whole(self) -> tuple[str, ...]:
        """Entities whose source is there."""
        return tuple(name for name in self.names if name != BROKEN)


def generate(folder: Path, contracts: int, engine: str) -> Generated:
    """About so many contracts: Bronze, Silver and Gold of each entity, and one reference that all Silver ones join."""
    names = tuple(f"e{number:03d}" for number in range(max(2, (contracts - 1) // 3)))
    root = folder / "contracts"
    root.mkdir(parents=True)
    system = f"system: shop\nengine: {engine}\nstorage: {{ landing: ../landing, lake: ../lake }}\n"
    (root / "_system.yaml").write_text(system)
    (root / "ref_countries.yaml").write_text(REFERENCE)
    entries = ["  - entity: countries\n    contracts: { reference: ref_countries.yaml }\n"]
    (folder / "landing").mkdir()
    (folder / "landing" / "countries.csv").write_text("code,name\nDE,Germany\nFR,France\n")
    for name in names:
        for layer, text in (("bronze", BRONZE), ("silver", SILVER), ("gold", GOLD)):
            (root / f"{layer}_{name}.yaml").write_text(text % {"name": name})
        listed = ", ".join(f"{layer}: {layer}_{name}.yaml" for layer in ("bronze", "silver", "gold"))
        entries.append(f"  - entity: {name}\n    contracts: {{ {listed} }}\n")
        if name != BROKEN:
            (folder / "landing" / name).mkdir()
            rows = "".join(f"{n},{('DE', 'FR', 'XX')[n % 3]},{n % 50}\n" for n in range(ROWS))
            (folder / "landing" / name / "day1.csv").write_text("id,country,amount\n" + rows)
    (root / "_registry.yaml").write_text("entries:\n" + "".join(entries))
    return Generated(folder, names)


def validate_seconds(estate: Generated) -> float:
    """The whole command, from its start to its end."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "lakelogic", "validate", str(estate.folder / "contracts")]
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - begun


def make_ready(estate: Generated, engine: str) -> tuple[Prepared, Request]:
    settings = read_settings({**os.environ, "LAKELOGIC_ENGINE": engine})
    request = Request(settings)
    loaded = read_estate([estate.folder / "contracts" / "_registry.yaml"], settings=settings)
    return prepare(loaded, Selection(), request, Order(), Wanted()), request


def run_estate(estate: Generated, engine: str, workers: int, session: Any) -> tuple[PipelineResult, float]:
    prepared, request = make_ready(estate, engine)
    begun = time.perf_counter()
    result = run_pipeline(prepared, request, Order(workers, continue_on_error=True), session=session)
    return result, time.perf_counter() - begun


def check(estate: Generated, result: PipelineResult, dag: Any) -> None:
    """Every contract after those that it builds on; the broken one holds back its descendants and nobody else."""
    log = {record.dataset: record for record in read_runs(str(estate.folder / "lake" / "_lakelogic"), limit=None)}
    expected = dict.fromkeys(result.outcomes, "succeeded")
    expected |= dict.fromkeys(dag.descendants(f"bronze_{BROKEN}"), "skipped") | {f"bronze_{BROKEN}": "failed"}
    assert {name: outcome.status for name, outcome in result.outcomes.items()} == expected
    assert {name: record.status for name, record in log.items()} == expected
    for edge in dag.edges:
        above, below = log[edge.upstream], log[edge.downstream]
        assert below.status == "skipped" or above.finished_at <= below.started_at, edge
    assert all(f"bronze_{BROKEN}" in (log[name].reason or "") for name in dag.descendants(f"bronze_{BROKEN}"))
    rows = sum(outcome.counts.accepted for outcome in result.outcomes.values())
    good = sum(1 for n in range(ROWS) if n % 50)
    assert rows == 2 + len(estate.whole) * (ROWS + 2 * good), rows


def by_hand(estate: Generated, workers: int, spark: Any) -> float:
    """The same contracts as somebody would write them: no ledger, no journal, no run log."""
    from pyspark.sql import functions as sf

    landing, lake = estate.folder / "landing", estate.folder / "lake_by_hand"

    def bronze(name: str, own: Any) -> None:
        read = own.read.csv(f"{landing}/{name}", header=True, schema="id long, country string, amount int")
        _append(read.withColumn("_source", sf.col("_metadata.file_path")), lake / f"bronze_{name}")

    def silver(name: str, own: Any) -> None:
        read = own.read.format("delta").load(f"{lake}/bronze_{name}")
        countries = own.read.format("delta").load(f"{lake}/ref_countries").withColumnRenamed("name", "country_name")
        joined = read.join(sf.broadcast(countries), read["country"] == countries["code"], "left").drop("code")
        joined = joined.fillna({"country_name": "Unknown"})
        _append(joined.where("amount > 0 AND id IS NOT NULL"), lake / f"silver_{name}")
        bad = joined.where("NOT (amount > 0 AND id IS NOT NULL)")
        _append(bad.withColumn("_errors", sf.lit("positive")), lake / f"silver_{name}_quarantine")

    def gold(name: str, own: Any) -> None:
        read = own.read.format("delta").load(f"{lake}/silver_{name}")
        _append(read.select("id", "country_name", "amount"), lake / f"gold_{name}")

    def entity(name: str) -> None:
        own = spark.newSession()
        own.sparkContext.setLocalProperty("spark.scheduler.pool", name)
        for layer in (bronze, silver, gold):
            layer(name, own)

    begun = time.perf_counter()
    _append(spark.read.csv(f"{landing}/countries.csv", header=True), lake / "ref_countries")
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(entity, estate.whole))
    return time.perf_counter() - begun


def _append(frame: Any, path: Path) -> None:
    frame.write.format("delta").mode("append").save(str(path))


def jobs_so_far(spark: Any) -> int:
    spark.range(1).collect()
    return max(spark.sparkContext.statusTracker().getJobIdsForGroup())


def measure(arguments: argparse.Namespace, folder: Path, session: Any) -> dict[str, Any]:
    estate = generate(folder / "estate", arguments.contracts, arguments.engine)
    print(f"{estate.contracts} contracts over 4 layers, {arguments.engine}, {arguments.workers} workers")
    validated = validate_seconds(estate)
    print(f"validate: {validated:.2f} s (bar 3 s)")
    if session is not None:
        warm = generate(folder / "warm", WARM_UP, arguments.engine)
        by_hand(warm, arguments.workers, session)
        run_estate(warm, arguments.engine, arguments.workers, session)
        before = jobs_so_far(session)
        hand = by_hand(estate, arguments.workers, session)
        between = jobs_so_far(session)
    else:
        hand = before = between = 0
    result, wall = run_estate(estate, arguments.engine, arguments.workers, session)
    check(estate, result, make_ready(estate, arguments.engine)[0].dag)
    ran = 1 + 3 * len(estate.whole)
    print(f"order and held-back contracts are right; {ran} ran")
    print(f"pipeline: {wall:.1f} s, {wall / ran:.2f} s per contract")
    if session is not None:
        after = jobs_so_far(session)
        print(f"by hand:  {hand:.1f} s, {hand / ran:.2f} s per contract")
        print(f"overhead: {(wall - hand) / ran:.2f} s per contract (bar 1.5 s)")
        print(f"Spark jobs per contract: {(after - between) / ran:.1f}, by hand {(between - before) / ran:.1f}")
    return {"contracts": ran, "engine": arguments.engine, "workers": arguments.workers, "validate_s": validated,
            "pipeline_s": wall, "by_hand_s": hand, "overhead_s": (wall - hand) / ran}  # fmt: skip


def with_session(arguments: argparse.Namespace, work: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    if arguments.engine != "spark":
        return work(None)
    from lakelogic.engine.spark.session import close_session, open_session

    settings = read_settings(os.environ)
    session = open_session(settings, master=arguments.master, conf={"spark.scheduler.mode": "FAIR"})
    try:
        return work(session.spark)
    finally:
        close_session(session)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contracts", type=int, default=300)
    parser.add_argument("--engine", choices=("spark", "duckdb"), default="spark")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--master", default=None)
    parser.add_argument("--json", type=Path, help="file for the numbers")
    arguments = parser.parse_args()
    logger.remove()
    folder = Path(tempfile.mkdtemp(prefix="lakelogic-estate-"))
    try:
        report = with_session(arguments, lambda session: measure(arguments, folder, session))
        if arguments.json:
            arguments.json.write_text(json.dumps(report))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
