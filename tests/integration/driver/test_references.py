"""`--cache-references`: a link of several contracts is read once, and they all see the same rows of it."""

from __future__ import annotations

import io
import shutil
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.integration.driver.estates import land, write_estate

from lakelogic.core.keys import derive_keys
from lakelogic.core.settings import Settings
from lakelogic.driver.estate import read_estate
from lakelogic.driver.load_many import Wanted
from lakelogic.driver.outcome import PipelineResult
from lakelogic.driver.pipeline import Order, prepare, run_pipeline
from lakelogic.driver.select import Selection
from lakelogic.driver.worker import Request
from lakelogic.engine.duckdb import reader
from lakelogic.engine.registry import EngineOptions, open_engine
from lakelogic.plan.model import LinkRead
from lakelogic.run.references import ReferenceCache, Shared, find_shared

SETTINGS = Settings(engine="duckdb")
ORDER = Order(max_workers=4)


def run(registry: Path, *, cached: bool, layers: tuple[str, ...] = ("reference", "bronze", "silver")) -> PipelineResult:
    request = Request(SETTINGS, cache_references=cached)
    prepared = prepare(read_estate([registry], settings=SETTINGS), Selection(layers=layers), request, ORDER, Wanted())
    return run_pipeline(prepared, request, ORDER)


def rows(folder: Path, name: str) -> list[tuple[Any, ...]]:
    table = DeltaTable(str(folder / "lake" / name)).to_pyarrow_table(columns=["id", "amount", "country_name"])
    return sorted(tuple(row.values()) for row in table.to_pylist())


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often rows of a link are opened, by the name of its folder."""
    counted: Counter[str] = Counter()
    honest = reader.read_link

    def counting(relations: Any, link: LinkRead) -> str:
        counted[Path(link.path).name] += 1
        return honest(relations, link)

    for module in ("reader", "stage", "kept_links"):
        monkeypatch.setattr(f"lakelogic.engine.duckdb.{module}.read_link", counting)
    return counted


def test_a_link_of_four_contracts_is_read_once_and_the_tables_are_the_same(tmp_path: Path, reads: Counter[str]) -> None:
    plain, cached = tmp_path / "plain", tmp_path / "cached"
    names = [f"silver_e{number:03d}" for number in range(4)]
    assert run(write_estate(plain, 4), cached=False).exit_code == 0
    assert reads["ref_countries"] >= 4
    reads.clear()
    registry = write_estate(cached, 4)
    assert run(registry, cached=True).exit_code == 0
    assert reads["ref_countries"] == 1
    assert [rows(cached, name) for name in names] == [rows(plain, name) for name in names]
    # The next run sees what the reference table is then, after the contract that writes it.
    reads.clear()
    (cached / "landing" / "more.csv").write_text("code,name\nIT,Italy\n")
    reference = cached / "contracts" / "ref_countries.yaml"
    every = 'path: "${storage.landing}", pattern: "*.csv"'
    reference.write_text(reference.read_text().replace('path: "${storage.landing}/countries.csv"', every))
    for number in range(4):
        land(cached, f"e{number:03d}", "day2.csv", [(9, "IT", 5)])
    assert run(registry, cached=True).exit_code == 0
    assert reads["ref_countries"] == 1
    assert all((9, 5, "Italy") in rows(cached, name) for name in names)


def test_only_links_with_several_readers_are_kept(tmp_path: Path) -> None:
    registry = write_estate(tmp_path, 2)
    estate = read_estate([registry], settings=SETTINGS)
    prepared = prepare(estate, Selection(), Request(SETTINGS), ORDER, Wanted())
    shared = find_shared(prepared.contracts.values(), SETTINGS)
    assert shared == {str(tmp_path / "lake" / "ref_countries"): Shared(None, frozenset({"ref_countries"}))}
    one = [contract for name, contract in prepared.contracts.items() if name != "silver_e001"]
    assert find_shared(one, SETTINGS) == {}


DEEP = pa.struct([("a", pa.string()), ("b", pa.list_(pa.decimal128(3, 1)))])
TYPES = pa.table(
    {
        "text": ["a", None],
        "whole": pa.array([1, None], pa.int64()),
        "small": pa.array([1, None], pa.int16()),
        "real": pa.array([1.5, float("nan")], pa.float32()),
        "money": pa.array([Decimal("1.20"), None], pa.decimal128(12, 2)),
        "flag": [True, None],
        "day": [date(2026, 1, 2), None],
        "moment": pa.array([datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "wall": pa.array([datetime(2026, 1, 2, 3, 4, 5, 6), None], pa.timestamp("us")),
        "raw": pa.array([b"\x00\xff", None], pa.binary()),
        "many": pa.array([[1, None], None], pa.list_(pa.int32())),
        "deep": pa.array([{"a": "x", "b": [Decimal("0.1")]}, None], DEEP),
    }
)


def test_what_is_kept_has_the_rows_and_types_of_the_link(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "table"), TYPES)
    (tmp_path / "codes.csv").write_text('code,name\n007,Bond\n"a,b",\n')
    (tmp_path / "bare.csv").write_text("1,x\n2,y\n")
    links = [
        LinkRead("table", str(tmp_path / "table"), "delta"),
        LinkRead("some", str(tmp_path / "table"), "delta", ("whole", "text")),
        LinkRead("codes", str(tmp_path / "codes.csv"), "csv"),
        LinkRead("bare", str(tmp_path / "bare.csv"), "csv", ("n", "c"), options={"header": "false"}),
    ]
    engine: Any = open_engine("duckdb", EngineOptions(SETTINGS, derive_keys(None)))
    cache = ReferenceCache({link.path: Shared(None) for link in links})
    for link in links:
        kept = cache.keep(engine, "reader", link)
        assert kept.path != link.path
        assert engine.inspect_link(kept) == engine.inspect_link(link), link.name
        assert fetch(engine, kept) == fetch(engine, link), link.name
    assert len({cache.keep(engine, "reader", link).path for link in links}) == 3
    folder = Path(cache.keep(engine, "reader", links[0]).path).parent
    # What was kept stays as it is, whatever becomes of the table.
    before = fetch(engine, cache.keep(engine, "reader", links[0]))
    shutil.rmtree(tmp_path / "table")
    assert fetch(engine, cache.keep(engine, "reader", replace(links[0], name="later"))) == before
    cache.close()
    engine.close()
    assert not folder.exists()


@pytest.mark.spark
def test_on_spark_all_sessions_read_one_cached_relation(
    tmp_path: Path, spark_session: Any, spark_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakelogic.engine.spark import reader as spark_reader

    honest = spark_reader.read_link
    read: list[tuple[str, bool]] = []

    def noting(spark: Any, link: LinkRead) -> Any:
        frame = honest(spark, link)
        said = io.StringIO()
        with redirect_stdout(said):
            frame.explain()
        read.append((link.path, "Scan In-memory table" in said.getvalue()))
        return frame

    for module in ("engine", "stage", "kept_links"):
        monkeypatch.setattr(f"lakelogic.engine.spark.{module}.read_link", noting)
    registry = write_estate(tmp_path, 2)
    assert run(registry, cached=False, layers=("reference", "bronze")).exit_code == 0
    request = Request(spark_settings, engine="spark", cache_references=True)
    chosen = Selection(layers=("silver",))
    prepared = prepare(read_estate([registry], settings=spark_settings), chosen, request, ORDER, Wanted())
    result = run_pipeline(prepared, request, Order(max_workers=1), session=spark_session)
    assert {outcome.status for outcome in result.outcomes.values()} == {"succeeded"}
    expected = [(1, 10, "Germany"), (2, 20, "France")]
    assert [rows(tmp_path, f"silver_e00{number}") for number in range(2)] == [expected, expected]
    table = str(tmp_path / "lake" / "ref_countries")
    # Both contracts look at the link and read it; the table itself is opened once.
    assert [path for path, _ in read].count(table) == 1
    kept = [(path, cached) for path, cached in read if path != table]
    assert len(kept) == 4 and len(set(kept)) == 1 and kept[0][1]
    assert spark_session.catalog.listTables("global_temp") == []
    cached = [each.name() for each in spark_session.sparkContext._jsc.sc().getRDDStorageInfo()]
    assert not [name for name in cached if "lakelogic_link" in name]


def fetch(engine: Any, link: LinkRead) -> list[str]:
    with engine._call("reading") as relations:
        return sorted(map(repr, relations.session.run(reader.read_link(relations, link)).fetchall()))


def test_a_link_that_cannot_be_kept_fails_each_of_its_readers_and_no_other(tmp_path: Path) -> None:
    registry = write_estate(tmp_path, 3)
    for number in range(2):
        silver = tmp_path / "contracts" / f"silver_e{number:03d}.yaml"
        silver.write_text(silver.read_text().replace("dataset: ref_countries", 'path: "${storage.landing}/none.csv"'))
    request = Request(SETTINGS, cache_references=True)
    order = replace(ORDER, continue_on_error=True)
    chosen = Selection(layers=("reference", "bronze", "silver"))
    prepared = prepare(read_estate([registry], settings=SETTINGS), chosen, request, order, Wanted())
    told = {name: outcome.status for name, outcome in run_pipeline(prepared, request, order).outcomes.items()}
    assert (told["silver_e000"], told["silver_e001"], told["silver_e002"]) == ("failed", "failed", "succeeded")
