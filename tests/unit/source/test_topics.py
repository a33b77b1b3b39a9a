"""Offsets are read once each: the position is where the newest committed slice ends, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakelogic.core.errors import RunError
from lakelogic.core.slices import OffsetRange, TopicSlice
from lakelogic.source.topics import Bounds, StartingOffsets, Topic, lost_messages, next_topic_slice


def topic(*bounds: tuple[int, int], topic_id: str | None = "A") -> Topic:
    return Topic("t", topic_id, {number: Bounds(*pair) for number, pair in enumerate(bounds)})


def slice_(*ranges: tuple[int, int, int], topic_id: str | None = "A") -> TopicSlice:
    return TopicSlice("t", tuple(OffsetRange(*numbers) for numbers in ranges), topic_id)


def choose(
    now: Topic, committed: TopicSlice | None = None, starting: StartingOffsets = "earliest", full: bool = False
) -> tuple[TopicSlice | None, str]:
    return next_topic_slice(now, starting=starting, full=full, committed=committed)


def test_the_first_slice_starts_where_the_contract_says() -> None:
    now = topic((3, 10), (0, 4))
    first = "11 offsets of 2 partitions: no batch was committed before"
    assert choose(now) == (slice_((0, 3, 10), (1, 0, 4)), first)
    assert choose(now, starting={0: 9, 1: -2})[0] == slice_((0, 9, 10), (1, 0, 4))
    assert choose(now, starting={0: -1, 1: 3}) == (
        slice_((0, 10, 10), (1, 3, 4)),
        "1 offset of 2 partitions: no batch was committed before",
    )


def test_reading_goes_on_where_the_committed_slice_ends() -> None:
    committed = slice_((0, 0, 5), (1, 2, 2))
    assert choose(topic((0, 9), (1, 2)), committed, "latest") == (
        slice_((0, 5, 9), (1, 2, 2)),
        "4 offsets of 2 partitions",
    )
    assert choose(topic((0, 5), (1, 2)), committed) == (None, "the topic has no new messages")


def test_nothing_new_is_an_error_where_the_contract_says_so() -> None:
    with pytest.raises(RunError, match="has no new messages"):
        next_topic_slice(topic((0, 5)), starting="earliest", full=False, committed=slice_((0, 0, 5)), on_empty="fail")


def test_a_partition_that_was_added_is_read_from_its_beginning_also_after_latest() -> None:
    assert choose(topic((0, 5), (0, 7)), slice_((0, 0, 5)), "latest")[0] == slice_((0, 5, 5), (1, 0, 7))


def test_latest_is_remembered_before_there_is_a_message() -> None:
    empty = slice_((0, 8, 8), (1, 4, 4))
    chosen, reason = choose(topic((0, 8), (0, 4)), starting="latest")
    assert (chosen, reason) == (empty, "the position is set, later messages will be read")
    assert choose(topic((0, 9), (0, 4)), empty, "latest")[0] == slice_((0, 8, 9), (1, 4, 4))
    assert choose(topic((0, 0)))[0] is None, "an empty topic that is read from its beginning needs no position"


def test_full_reads_again_and_sets_the_position_anew() -> None:
    committed = slice_((0, 0, 90))
    assert choose(topic((0, 20)), committed, full=True) == (slice_((0, 0, 20)), "20 offsets of 1 partition")
    assert choose(topic((0, 20)), committed, "latest", full=True)[0] == slice_((0, 20, 20))
    assert choose(topic((0, 20)), slice_((0, 0, 20)), "latest", full=True)[0] is None


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (topic((7, 9)), "partition 0 was read up to offset 5, but starts at 7 now (2 offsets unread)"),
        (topic((0, 4)), "partition 0 was read up to offset 5, but ends at 4"),
        (topic((0, 9), topic_id="B"), "it was deleted and made anew since it was last read"),
        (Topic("t", "A", {1: Bounds(0, 1)}), "partition 0 was read before and is not there"),
    ],
)
def test_a_position_that_the_topic_does_not_hold_is_an_error_with_the_choices(now: Topic, told: str) -> None:
    with pytest.raises(RunError) as caught:
        choose(now, slice_((0, 0, 5)))
    assert (caught.value.problem.code, caught.value.problem.message) == ("LL434", f"topic `t`: {told}")
    for choice in ("source.load_mode=full", "earliest", "latest", '{"0": 1200}'):
        assert choice in str(caught.value.problem.hint)


def test_a_position_at_either_end_of_the_topic_is_sound() -> None:
    assert choose(topic((5, 5)), slice_((0, 0, 5)))[0] is None
    assert choose(topic((5, 6)), slice_((0, 0, 5)))[0] == slice_((0, 5, 6))


def test_a_broker_without_topic_ids_says_nothing_about_another_topic() -> None:
    assert choose(topic((0, 9), topic_id=None), slice_((0, 0, 5)))[0] == slice_((0, 5, 9), topic_id=None)


@pytest.mark.parametrize(
    ("starting", "told"),
    [
        ({0: 3}, "partition 1 is not named in it"),
        ({0: 3, 1: 0, 2: 0}, "partition 2 is not there"),
        ({0: 11, 1: 0}, "partition 0 of topic `t` has no offset 11"),
        ({0: 2, 1: 0}, "partition 0 of topic `t` has no offset 2"),
    ],
)
def test_offsets_that_do_not_fit_the_topic_are_refused(starting: dict[int, int], told: str) -> None:
    with pytest.raises(RunError, match="starting_offsets") as caught:
        choose(topic((3, 10), (0, 4)), starting=starting)
    assert caught.value.problem.code == "LL436" and told in caught.value.problem.message


def test_messages_of_a_pending_slice_may_be_gone() -> None:
    pending = slice_((0, 5, 9), (1, 0, 0))
    assert lost_messages(pending, topic((5, 9), (3, 3))) is None
    assert lost_messages(pending, topic((6, 9), (0, 0))) == "offsets of partition 0 of topic `t` are gone"
    assert lost_messages(pending, topic((0, 8), (0, 0))) == "offsets of partition 0 of topic `t` are gone"
    assert lost_messages(pending, topic((0, 9), topic_id="B")) == "topic `t` was deleted and made anew"


@given(st.lists(st.tuples(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.booleans()), max_size=30))
def test_every_offset_is_committed_exactly_once(history: list[tuple[list[int], bool]]) -> None:
    """However messages arrive, partitions are added and batches are abandoned."""
    ends: list[int] = []
    committed: TopicSlice | None = None
    read: list[tuple[int, int]] = []
    for arrivals, is_committed in [*history, ([0], True)]:
        ends += [0] * (len(arrivals) - len(ends))
        for partition, count in enumerate(arrivals):
            ends[partition] += count
        chosen, _ = choose(topic(*((0, end) for end in ends)), committed)
        if chosen is not None and is_committed:
            committed = chosen
            read += [(part.partition, offset) for part in chosen.ranges for offset in range(part.start, part.end)]
    assert sorted(read) == [(partition, offset) for partition, end in enumerate(ends) for offset in range(end)]
