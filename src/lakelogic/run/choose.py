"""Choosing the slice: what the contract's source has that no committed batch has read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from lakelogic.contract.contract import Contract
from lakelogic.contract.kafka import Kafka
from lakelogic.contract.source import Source
from lakelogic.contract.watermarks import reads_by_target
from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.core.slices import DatabaseSlice, FileSlice, Slice, TableSlice, TopicSlice
from lakelogic.core.window import Window
from lakelogic.engine.registry import READS_TOPICS
from lakelogic.record.journal import Journal
from lakelogic.run.databases import choose_rows
from lakelogic.run.databases import lost_rows as lost_database_rows
from lakelogic.run.file_windows import dated_paths
from lakelogic.run.places import Places, require_source
from lakelogic.source.files import changed_files
from lakelogic.source.kafka_client import describe_topic
from lakelogic.source.listing import Readiness
from lakelogic.source.next_slice import Position, next_slice
from lakelogic.source.table_news import lost_rows
from lakelogic.source.topics import lost_messages, next_topic_slice


@dataclass(frozen=True, slots=True)
class Asked:
    """What the caller of a run asked for beside the contract."""

    engine: str
    path_given: bool = False  # a path of the caller stands in for the contract's source
    whole: bool = False  # rows of these days may stand anywhere, also in what was read before
    now: datetime | None = None  # the run's clock, by which a file has settled
    most_files: int | None = None  # in one batch
    root: str | None = None  # what relative paths start from; None: the contract's folder
    windowed: bool = False  # the run is for a window, and does not move the position
    window: Window | None = None  # the days that are asked for


def choose_slice(contract: Contract, places: Places, journal: Journal | None, asked: Asked) -> tuple[Slice | None, str]:
    """The slice to read and the reason for it.

    Without a journal nothing was read before, and nothing will be remembered: all of the source is meant.
    """
    source, given = contract.source, asked.path_given
    within = dated_paths(contract, asked.window) if not given else None
    if source is not None and source.kafka is not None and not given:
        return _choose_offsets(source, source.kafka, journal, asked)
    if source is not None and source.database is not None and not given:
        return choose_rows(contract, places, journal, root=asked.root, whole=asked.whole, windowed=asked.windowed)
    position = Position(journal.known_files, journal.committed_table) if journal else None
    ask = partial(
        next_slice,
        require_source(places, contract),
        pattern=source.pattern if source and not given else None,
        format=source.format if source and not given else None,
        # A window in which there is nothing says so, and is no failure.
        on_empty=source.on_empty if source and within is None else "skip",
        ready=_readiness(source, asked) if source and not given else None,
        repeatable=contract.materialization is None or contract.materialization.strategy != "append",
        within=within,
    )
    if contract.is_raw and within is not None and journal is not None:
        return ask(load_mode="incremental", position=position)
    if source is None or journal is None or asked.whole:
        return ask()
    chosen, reason = ask(
        load_mode=source.load_mode,
        position=position,
        since=_lookback(source, journal),
        most=asked.most_files if _adds_up(contract) else None,
    )
    if chosen is not None and reads_by_target(source) and not given:
        # Something is new; which rows it is about is for the watermark to say.
        return ask()[0], f"{reason}; rows are chosen by the newest `{source.watermark_field}` of the target"
    return chosen, reason


def _adds_up(contract: Contract) -> bool:
    """Whether several batches leave what one would have left, so that many files can be read in parts."""
    strategy = contract.materialization.strategy if contract.materialization else "append"
    by_target = contract.source is not None and reads_by_target(contract.source)
    return strategy in ("append", "merge", "scd2", "cdc") and not by_target


def _lookback(source: Source, journal: Journal) -> datetime | None:
    if source.lookback is None or source.load_mode != "incremental" or reads_by_target(source):
        return None
    read = journal.read_up_to()
    return read - source.lookback if read else None


def _readiness(source: Source, asked: Asked) -> Readiness:
    settle_s = source.settle.total_seconds() if source.settle else 0
    return Readiness(settle_s, source.success_marker, (asked.now or datetime.now(UTC)).timestamp())


def declared_path(contract: Contract) -> str | None:
    return contract.source.path if contract.source else None


def lost_slice(contract: Contract, slice_: Slice, path: str | None = None) -> str | None:
    """Why what a batch was to read is not there any more as it was; None where it is.

    `path` is the contract's when the batch was begun; with another one by now the files of the first are not meant.
    """
    if path is not None and declared_path(contract) not in (path, None):
        return f"`{path}` is not the contract's source any more"
    if isinstance(slice_, TopicSlice):
        kafka = contract.source.kafka if contract.source else None
        # A contract that names another topic by now cannot say anything about this one.
        if kafka is None or kafka.topic != slice_.topic:
            return f"topic `{slice_.topic}` is not the contract's source any more"
        return lost_messages(slice_, describe_topic(kafka.bootstrap_servers, kafka.topic))
    if isinstance(slice_, DatabaseSlice):
        return lost_database_rows(contract, slice_)
    if isinstance(slice_, TableSlice):
        return lost_rows(slice_)
    changed = changed_files(slice_)
    return f"`{changed[0]}` changed since it was listed" if changed else None


class SourceChangedError(RunError):
    """Files that changed while they were read; nothing of the batch was published."""

    def __init__(self, files: tuple[str, ...]) -> None:
        super().__init__(
            f"`{files[0]}` changed while it was read; nothing was published",
            hint="run again when its upload is over; `source.settle` or `source.success_marker` leave such files alone",
            code="LL431",
            retryable=True,
        )
        self.files = files


def without_changed(contract: Contract, asked: Asked, slice_: Slice, changed: SourceChangedError) -> FileSlice | None:
    """The slice without the files that changed, which a later run reads; None where it makes sense only as a whole."""
    source = contract.source
    whole = source is None or source.load_mode == "full" or reads_by_target(source)
    whole = (whole or asked.whole) and not (contract.is_raw and asked.window is not None)
    if whole or not isinstance(slice_, FileSlice):
        return None
    left = tuple(file for file in slice_.files if file.path not in changed.files)
    return replace(slice_, files=left) if left else None


def _choose_offsets(source: Source, kafka: Kafka, journal: Journal | None, asked: Asked) -> tuple[Slice | None, str]:
    if asked.engine not in READS_TOPICS:
        raise CapabilityError(f"engine `{asked.engine}` cannot read Kafka yet", hint="run it with --engine spark")
    return next_topic_slice(
        describe_topic(kafka.bootstrap_servers, kafka.topic),
        starting="earliest" if asked.whole else kafka.starting_offsets,
        full=asked.whole or source.load_mode == "full",
        committed=journal.committed_offsets(kafka.topic) if journal else None,
        on_empty=source.on_empty,
    )
