"""Which slice a run reads: of a topic by the journal, and never on an engine that cannot read it."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from lakelogic.contract import Contract, load_contract
from lakelogic.core.errors import CapabilityError, PlanError, RunError
from lakelogic.core.secrets import Secret
from lakelogic.core.settings import Settings
from lakelogic.core.slices import FileSlice, OffsetRange, Slice, TopicSlice
from lakelogic.core.window import window_of_days
from lakelogic.record.journal import Holder, Journal, open_journal
from lakelogic.run import choose as subject
from lakelogic.run.choose import Asked, choose_slice, lost_slice
from lakelogic.run.places import find_places
from lakelogic.source.kafka_client import describe_topic
from lakelogic.source.topics import Bounds, Topic

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPARK = Asked("spark")


class Broker:
    """A double of a broker with one topic of one partition."""

    def __init__(self) -> None:
        self.bounds = Bounds(0, 0)

    def describe(self, servers: object, name: str) -> Topic:
        assert servers == "b:9092"
        return Topic(name, "id", {0: self.bounds})


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    made = Broker()
    monkeypatch.setattr(subject, "describe_topic", made.describe)
    return made


def contract(folder: Path, more: str = "") -> Contract:
    path = folder / "c.yaml"
    path.write_text(
        f"dataset: d\nsource: {{ kafka: {{ bootstrap_servers: 'b:9092', topic: t }} {more} }}\n"
        "materialization: { target_path: lake/d }\n"
    )
    return load_contract(path)


def choose(told: Contract, journal: Journal | None, asked: Asked = SPARK) -> Slice | None:
    return choose_slice(told, find_places(told, Settings()), journal, asked)[0]


def commit(journal: Journal, slice_: Slice | None, **settings: object) -> None:
    assert slice_ is not None
    holder = Holder("h", 1, "r", NOW)
    batch = journal.prepare(slice_, run_id="r", fingerprint="f", started_at=NOW, holder=holder, settings=settings)
    journal.mark_committed(batch)


def offsets(start: int, end: int) -> TopicSlice:
    return TopicSlice("t", (OffsetRange(0, start, end),), "id")


def test_a_topic_goes_on_from_the_journal(tmp_path: Path, broker: Broker) -> None:
    told, journal = contract(tmp_path), open_journal(str(tmp_path))
    broker.bounds = Bounds(0, 5)
    commit(journal, choose(told, journal))
    assert choose(told, journal) is None
    broker.bounds = Bounds(2, 8)
    assert choose(told, journal) == offsets(5, 8)
    assert choose(contract(tmp_path, ", load_mode: full"), journal) == offsets(2, 8)
    assert choose(told, None) == offsets(2, 8), "a check has no journal, and sees all"


def test_a_window_reads_all_of_a_topic_and_moves_nothing(tmp_path: Path, broker: Broker) -> None:
    told, journal = contract(tmp_path), open_journal(str(tmp_path))
    broker.bounds = Bounds(0, 5)
    commit(journal, choose(told, journal))
    broker.bounds = Bounds(0, 7)
    chosen = choose(told, journal, Asked("spark", whole=True))
    assert chosen == offsets(0, 7)
    commit(journal, chosen, window=["2026-01-01", "2026-01-02"])
    assert choose(told, journal) == offsets(5, 7)


def test_a_path_of_the_caller_stands_in_for_the_topic(tmp_path: Path) -> None:
    (tmp_path / "captured.jsonl").write_text("{}\n")
    told = contract(tmp_path)
    places = find_places(told, Settings(), source=str(tmp_path / "captured.jsonl"))
    _, reason = choose_slice(told, places, None, Asked("duckdb", path_given=True))
    assert reason == "full load of 1 file"


def test_an_engine_that_cannot_read_topics_is_refused_before_any_broker_is_asked(tmp_path: Path) -> None:
    with pytest.raises(CapabilityError, match="engine `duckdb` cannot read Kafka yet"):
        choose(contract(tmp_path), None, Asked("duckdb"))


def test_a_pending_slice_is_given_up_when_its_messages_are_gone(tmp_path: Path, broker: Broker) -> None:
    told = contract(tmp_path)
    broker.bounds = Bounds(0, 9)
    assert lost_slice(told, offsets(3, 9)) is None
    broker.bounds = Bounds(4, 9)
    assert lost_slice(told, offsets(3, 9)) == "offsets of partition 0 of topic `t` are gone"
    other = TopicSlice("before", ())
    assert lost_slice(told, other) == "topic `before` is not the contract's source any more"


def test_a_client_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(RunError, match="confluent-kafka") as caught:
        describe_topic(Secret("b"), "t")
    assert (caught.value.problem.code, caught.value.problem.hint) == ("LL437", "pip install 'lakelogic[kafka]'")


def test_a_window_of_raw_bronze_needs_files(tmp_path: Path, broker: Broker) -> None:
    told, journal = contract(tmp_path, ", raw: true"), open_journal(str(tmp_path))
    broker.bounds = Bounds(0, 5)
    assert choose(told, journal) == offsets(0, 5)
    with pytest.raises(PlanError, match="the source is a topic") as caught:
        choose(told, journal, Asked("spark", whole=True, window=window_of_days(date(2026, 1, 1))))
    assert caught.value.problem.code == "LL356"


def test_what_a_window_of_raw_bronze_has_read_is_read(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("dataset: d\nsource: { path: in, raw: true }\nmaterialization: { target_path: lake/d }\n")
    for day in (1, 2):
        (tmp_path / f"in/dt=2026-01-0{day}").mkdir(parents=True)
        (tmp_path / f"in/dt=2026-01-0{day}/a.csv").write_text("a\n")
    told, journal = load_contract(path), open_journal(str(tmp_path))
    second = Asked("duckdb", whole=True, window=window_of_days(date(2026, 1, 2)))
    chosen = choose(told, journal, second)
    assert isinstance(chosen, FileSlice) and len(chosen.files) == 1
    commit(journal, chosen, window=["2026-01-02", "2026-01-03"], unread=True)
    assert choose(told, journal, second) is None
    rest = choose(told, journal, Asked("duckdb"))
    assert isinstance(rest, FileSlice) and [file.path[-16:] for file in rest.files] == ["2026-01-01/a.csv"]
