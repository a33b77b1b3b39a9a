"""Kafka topics as sources: which offsets the next batch reads, and whether they are still there.

The end of a slice is fixed when it is chosen, so that a retry reads exactly the same messages. Reading goes on
where the newest committed slice ends; the journal keeps that, not Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from lakelogic.contract.kafka import EARLIEST, LATEST
from lakelogic.core.errors import RunError
from lakelogic.core.slices import OffsetRange, TopicSlice

StartingOffsets = str | Mapping[int, int]

_WAYS_ON = (
    "choose where to go on, and run once with --set source.load_mode=full and --set source.kafka.starting_offsets="
    "earliest (all that is left, also what was read before), latest (nothing of it), "
    """or an offset for each partition ('{"0": 1200}')"""
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The oldest offset that a partition still has, and the one that its next message will get."""

    earliest: int
    end: int


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as its broker knows it right now."""

    name: str
    topic_id: str | None
    partitions: Mapping[int, Bounds]


def next_topic_slice(
    topic: Topic,
    *,
    starting: StartingOffsets,
    full: bool,
    committed: TopicSlice | None,
    on_empty: Literal["skip", "fail"] = "skip",
) -> tuple[TopicSlice | None, str]:
    """The offsets to read and the reason for it; None when there is nothing to read."""
    if full or committed is None:
        starts, why = _first_offsets(topic, starting), "" if full else ": no batch was committed before"
    else:
        _require_position(topic, committed)
        starts, why = _next_offsets(topic, committed), ""
    ranges = tuple(
        OffsetRange(partition, starts[partition], bounds.end) for partition, bounds in sorted(topic.partitions.items())
    )
    offsets = sum(part.end - part.start for part in ranges)
    slice_ = TopicSlice(topic.name, ranges, topic.topic_id)
    if offsets:
        return slice_, f"{_count(offsets, 'offset')} of {_count(len(ranges), 'partition')}{why}"
    if _sets_position(slice_, starting, full=full, committed=committed):
        return slice_, "the position is set, later messages will be read"
    if on_empty == "fail":
        raise RunError(f"topic `{topic.name}` has no new messages", code="LL433", hint="source.on_empty is fail")
    return None, "the topic has no new messages"


def lost_messages(slice_: TopicSlice, topic: Topic) -> str | None:
    """Why the messages of a slice can no longer be read; None where they can."""
    if _is_another(slice_, topic):
        return f"topic `{topic.name}` was deleted and made anew"
    for part in slice_.ranges:
        bounds = topic.partitions.get(part.partition)
        if part.start < part.end and (bounds is None or part.start < bounds.earliest or part.end > bounds.end):
            return f"offsets of partition {part.partition} of topic `{topic.name}` are gone"
    return None


def _sets_position(slice_: TopicSlice, starting: StartingOffsets, *, full: bool, committed: TopicSlice | None) -> bool:
    """Whether an empty slice must be committed: else the next run would start at a later end and miss messages."""
    if committed is None:
        return starting != "earliest"
    return full and (_ends(slice_), slice_.topic_id) != (_ends(committed), committed.topic_id)


def _first_offsets(topic: Topic, starting: StartingOffsets) -> dict[int, int]:
    if isinstance(starting, str):
        return {number: b.earliest if starting == "earliest" else b.end for number, b in topic.partitions.items()}
    _require_partitions(topic, starting)
    return {number: _given_offset(topic, number, offset) for number, offset in starting.items()}


def _require_partitions(topic: Topic, starting: Mapping[int, int]) -> None:
    differing = sorted(starting.keys() ^ topic.partitions.keys())
    if differing:
        there = ", ".join(str(number) for number in sorted(topic.partitions))
        wrong = "is not there" if differing[0] in starting else "is not named in it"
        raise RunError(
            f"source.kafka.starting_offsets does not fit topic `{topic.name}`: partition {differing[0]} {wrong}",
            code="LL436",
            hint=f"give an offset for each partition: {there} (-2 earliest, -1 latest)",
        )


def _given_offset(topic: Topic, partition: int, offset: int) -> int:
    bounds = topic.partitions[partition]
    if offset in (EARLIEST, LATEST):
        return bounds.earliest if offset == EARLIEST else bounds.end
    if bounds.earliest <= offset <= bounds.end:
        return offset
    raise RunError(
        f"source.kafka.starting_offsets: partition {partition} of topic `{topic.name}` has no offset {offset}",
        code="LL436",
        hint=f"choose from {bounds.earliest} to {bounds.end}, or -2 for the earliest, -1 for the latest",
    )


def _next_offsets(topic: Topic, committed: TopicSlice) -> dict[int, int]:
    """Where each partition goes on; one that was added since is read from its beginning."""
    ends = _ends(committed)
    return {number: ends.get(number, bounds.earliest) for number, bounds in topic.partitions.items()}


def _require_position(topic: Topic, committed: TopicSlice) -> None:
    """Offsets that were read up to must still mean the same; where they do not, a person chooses."""
    mistakes = list(_position_mistakes(topic, committed))
    if mistakes:
        raise RunError(f"topic `{topic.name}`: {'; '.join(mistakes)}", code="LL434", hint=_WAYS_ON)


def _position_mistakes(topic: Topic, committed: TopicSlice) -> Iterator[str]:
    if _is_another(committed, topic):
        yield "it was deleted and made anew since it was last read"
        return
    for number, read_to in _ends(committed).items():
        bounds = topic.partitions.get(number)
        if bounds is None:
            yield f"partition {number} was read before and is not there"
        elif read_to > bounds.end:
            yield f"partition {number} was read up to offset {read_to}, but ends at {bounds.end}"
        elif read_to < bounds.earliest:
            lost = f"{_count(bounds.earliest - read_to, 'offset')} unread"
            yield f"partition {number} was read up to offset {read_to}, but starts at {bounds.earliest} now ({lost})"


def _is_another(slice_: TopicSlice, topic: Topic) -> bool:
    return slice_.topic_id is not None and topic.topic_id is not None and slice_.topic_id != topic.topic_id


def _ends(slice_: TopicSlice) -> dict[int, int]:
    return {part.partition: part.end for part in slice_.ranges}


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
