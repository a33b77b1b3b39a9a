"""A topic of a real broker is read exactly once, whatever happens between.

Needs a broker and the Kafka jars: LAKELOGIC_TEST_KAFKA=host:port, `lakelogic setup --with kafka`. The broker of
`examples/cdc_debezium/stack.py up` will do.
"""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor, RunResult
from lakelogic.core import faults
from lakelogic.core.errors import RunError
from lakelogic.core.faults import FAULT_POINTS
from lakelogic.record.run_log import read_runs

BROKER = os.environ.get("LAKELOGIC_TEST_KAFKA", "")
pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not BROKER, reason="LAKELOGIC_TEST_KAFKA names no broker"),
]

CONTRACT = """\
dataset: events
source:
  columns: all
  kafka: {{ bootstrap_servers: "{broker}", topic: "{topic}", starting_offsets: {starting} }}
model:
  fields:
    - {{ name: id, type: long, required: true }}
    - {{ name: amount, type: "decimal(10,2)" }}
materialization: {{ strategy: append, target_path: lake/events }}
"""


@dataclass(frozen=True)
class Estate:
    """A topic of its own and the table that it is loaded into."""

    folder: Path
    topic: str
    spark: Any

    @property
    def table(self) -> Path:
        return self.folder / "lake" / "events"

    def declare(self, starting: str = "earliest") -> None:
        text = CONTRACT.format(broker=BROKER, topic=self.topic, starting=starting)
        (self.folder / "contract.yaml").write_text(text)

    def run(self, *overrides: str) -> RunResult:
        return DataProcessor(self.folder / "contract.yaml", spark=self.spark, overrides=overrides).run()

    def ids(self) -> list[int]:
        return sorted(DeltaTable(self.table).to_pyarrow_table()["id"].to_pylist())

    def admin(self, act: Callable[[Any], dict[Any, Any]]) -> None:
        from confluent_kafka.admin import AdminClient

        client = AdminClient({"bootstrap.servers": BROKER})
        for future in act(client).values():
            future.result(timeout=30)

    def create(self, partitions: int = 2) -> None:
        from confluent_kafka.admin import NewTopic

        self.admin(lambda admin: admin.create_topics([NewTopic(self.topic, partitions, 1)]))

    def send(self, *values: bytes | str | None, partition: int = 0) -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": BROKER})
        for value in values:
            producer.produce(self.topic, value, partition=partition)
        assert producer.flush(30) == 0

    def send_in_vain(self, value: str) -> None:
        """A message of a transaction that is taken back."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": BROKER, "transactional.id": self.topic})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(self.topic, value, partition=0)
        producer.flush(30)
        producer.abort_transaction(30)


@pytest.fixture
def estate(tmp_path: Path, spark_session: Any) -> Iterator[Estate]:
    made = Estate(tmp_path, f"lakelogic-{uuid.uuid4().hex[:8]}", spark_session)
    made.declare()
    made.create()
    yield made
    made.admin(lambda admin: admin.delete_topics([made.topic]))


def test_messages_are_lines_of_json(estate: Estate) -> None:
    sound = '{"id": 1, "amount": 1.50, "more": {"a": [1.0]}}'
    broken = '{"id": 2, "amount": }'
    estate.send(sound, broken, None, "", b'{"id": "\xff"}', "[1]", '{"id": 3, "amount": "abc"}')
    estate.send_in_vain('{"id": 99}')
    estate.send('{\n "id": 4\n}', None, partition=1)
    result = estate.run()
    counts = result.counts
    assert (counts.read, counts.accepted, counts.quarantined) == (7, 2, 5)
    assert (result.ledger[0].rows_in, result.ledger[0].removed) == (9, 2)
    rows = DeltaTable(estate.table).to_pyarrow_table().to_pylist()
    assert sorted((row["id"], str(row["amount"]), row["more"], row["_lakelogic_source"]) for row in rows) == [
        (1, "1.50", '{"a":[1.0]}', f"{estate.topic}/0@0"),
        (4, "None", None, f"{estate.topic}/1@0"),
    ]
    bad = DeltaTable(f"{estate.table}_quarantine").to_pyarrow_table().to_pylist()
    kept = {row["_lakelogic_source"].rpartition("@")[2]: row["_lakelogic_record"] for row in bad}
    assert kept == {"1": broken, "3": "", "4": '{"id": "\\xFF"}', "5": "[1]", "6": None}
    assert estate.run().status == "no_new_data"


def test_every_message_lands_once_whatever_fault_there_is(estate: Estate, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = 0
    for number, point in enumerate(FAULT_POINTS):
        for partition in (0, 1):
            estate.send(*(f'{{"id": {sent + n}}}' for n in range(3)), f"bad {sent}", partition=partition)
            sent += 3
        monkeypatch.setenv("LAKELOGIC_FAULT", point)
        monkeypatch.setenv("LAKELOGIC_FAULT_MODE", "raise")
        monkeypatch.setattr(faults, "_reached", Counter())
        # A point that an append does not come by leaves the run undisturbed.
        with suppress(OSError, RunError):
            estate.run()
        monkeypatch.delenv("LAKELOGIC_FAULT")
        if number % 3 == 2:
            estate.run()
    estate.run()
    assert estate.run().status == "no_new_data"
    assert estate.ids() == list(range(sent))
    bad = DeltaTable(f"{estate.table}_quarantine").to_pyarrow_table()["_lakelogic_record"].to_pylist()
    assert sorted(bad) == sorted(f"bad {3 * n}" for n in range(2 * len(FAULT_POINTS)))
    runs = [
        run for run in read_runs(str(estate.folder / "lake" / "_lakelogic"), limit=None) if run.status == "succeeded"
    ]
    assert sum(run.rows_accepted or 0 for run in runs) == sent


def test_latest_reads_only_what_comes_after_the_first_run(estate: Estate) -> None:
    estate.declare("latest")
    estate.send('{"id": 1}')
    assert estate.run().counts.read == 0
    estate.send('{"id": 2}')
    estate.send('{"id": 3}', partition=1)
    assert estate.run().counts.accepted == 2
    assert estate.ids() == [2, 3]


def test_a_topic_that_lost_messages_or_was_made_anew_asks_for_a_decision(estate: Estate) -> None:
    from confluent_kafka import TopicPartition

    estate.send('{"id": 1}', '{"id": 2}')
    estate.run()
    estate.send('{"id": 3}', '{"id": 4}', '{"id": 5}')
    estate.admin(lambda admin: admin.delete_records([TopicPartition(estate.topic, 0, 3)]))
    with pytest.raises(RunError, match=r"read up to offset 2, but starts at 3 now \(1 offset unread\)"):
        estate.run()
    estate.run("source.load_mode=full")
    assert estate.ids() == [1, 2, 4, 5]
    estate.send('{"id": 6}')
    assert estate.run().counts.accepted == 1
    estate.admin(lambda admin: admin.delete_topics([estate.topic]))
    estate.create(partitions=1)
    estate.send(*(f'{{"id": {n}}}' for n in range(10, 19)))
    with pytest.raises(RunError, match="made anew"):
        estate.run()
    estate.run("source.load_mode=full", 'source.kafka.starting_offsets={"0": 7}')
    assert estate.ids() == [1, 2, 4, 5, 6, 17, 18]
    assert estate.run().status == "no_new_data"


def test_raw_bronze_keeps_every_message_as_it_was_sent(estate: Estate) -> None:
    text = (
        f'dataset: events\ninfo: {{ system: shop }}\nsource:\n  raw: true\n  kafka: {{ bootstrap_servers: "{BROKER}", '
        f'topic: "{estate.topic}" }}\nmaterialization: {{ target_path: lake/events }}\n'
    )
    (estate.folder / "contract.yaml").write_text(text)
    sent = ['{"id": 1,  "amount": 1.50}', "not json", "[1]", '{\n "id": 4\n}']
    estate.send(*sent, None)
    result = estate.run()
    assert (result.counts.accepted, result.counts.quarantined) == (4, 0)
    assert estate.run().status == "no_new_data"
    rows = DeltaTable(estate.table).to_pyarrow_table().to_pylist()
    assert sorted(row["raw_payload"] for row in rows) == sorted(sent)
    assert {(row["source_system"], row["source_topic"]) for row in rows} == {("shop", estate.topic)}
    assert {row["checksum"] for row in rows} == {sha256(value.encode()).hexdigest() for value in sent}
