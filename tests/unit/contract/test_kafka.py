"""What a contract says about a topic, in all the forms it may be said in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakelogic.contract import Contract

Load = Callable[[str], Contract]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("earliest", "earliest"),
        ("latest", "latest"),
        ("""'{"0": 12, "1": -2}'""", {0: 12, 1: -2}),
        ("""'{"t": {"0": 12}}'""", {0: 12}),
        ("""{ "0": -1 }""", {0: -1}),
        ("""{ t: { "0": 7 } }""", {0: 7}),
    ],
)
def test_offsets_are_written_as_a_word_or_as_in_spark(contract: Load, written: str, meant: object) -> None:
    loaded = contract(f"source: {{ kafka: {{ bootstrap_servers: b, topic: t, starting_offsets: {written} }} }}")
    assert loaded.source is not None and loaded.source.kafka is not None
    assert loaded.source.kafka.starting_offsets == meant


def test_a_topic_is_read_incrementally_unless_the_contract_says_full(contract: Load) -> None:
    kafka = "kafka: { bootstrap_servers: b, topic: t }"
    sources = [contract(f"source: {{ {more}{kafka} }}").source for more in ("", "type: kafka, ", "load_mode: full, ")]
    told = [(source.type, source.load_mode) for source in sources if source]
    assert told == [("kafka", "incremental"), ("kafka", "incremental"), ("kafka", "full")]
