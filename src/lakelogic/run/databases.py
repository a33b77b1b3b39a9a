"""A database as the source of a run: the slice to read, and all that an engine needs to read it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from lakelogic.contract.contract import Contract
from lakelogic.contract.database import Database
from lakelogic.core.database_url import DatabaseUrl
from lakelogic.core.errors import CapabilityError
from lakelogic.core.slices import DatabaseSlice, Slice
from lakelogic.core.window import Window
from lakelogic.engine.protocol import DatabaseRead, ReadSpec, Split
from lakelogic.plan.database_sql import DatabaseRelation, Within, select_limits, split_by
from lakelogic.plan.database_types import NativeColumn, ReadColumn, is_numeric, is_time, read_column
from lakelogic.plan.narrow import last_maker, window_column, window_texts
from lakelogic.plan.types import family, parse_type
from lakelogic.record.journal import Journal
from lakelogic.run.places import Places
from lakelogic.source.arrow_rows import arrow_schema
from lakelogic.source.database_client import Client, has_client, open_client
from lakelogic.source.databases import Growth, describe, next_rows, relation_key, whole_slice
from lakelogic.storage.address import is_remote

_SAMPLED_ROWS = 100_000  # of a table that is cut into parts


def choose_rows(
    contract: Contract, places: Places, journal: Journal | None, *, root: str | None, whole: bool, windowed: bool
) -> tuple[Slice | None, str]:
    """The rows to read and the reason for it; `whole`: also those that were read before."""
    source, database = contract.source, _database(contract)
    assert source is not None
    relation = _relation(database)
    if relation.kind == "mssql":
        return _whole_unasked(contract, relation)
    with open_client(_url(contract, database, root)) as client:
        by_growth = source.watermark_field is not None and journal is not None and not windowed
        if not by_growth or places.control is None:
            return whole_slice(client, relation, source.on_empty)
        if is_remote(places.control):
            raise CapabilityError(
                "what was read of a database is listed in files beside the journal, and that lies on an object store",
                where=contract.at("source.watermark_field"),
                hint="set LAKELOGIC_STATE to a local folder for the journal and the run log",
            )
        assert journal is not None and source.watermark_field is not None
        marked = _marked(contract, describe(client, relation))
        again = whole or source.load_mode == "full"
        return next_rows(
            client,
            relation,
            Growth(source.watermark_field, source.lookback, marked),
            committed=None if again else journal.committed_bounds(relation_key(relation)),
            control=places.control,
            on_empty=source.on_empty,
        )


def lost_rows(contract: Contract, slice_: DatabaseSlice) -> str | None:
    """Why the rows of a slice can no longer be read; None where they can."""
    database = contract.source.database if contract.source else None
    if database is None or relation_key(_relation(database)) != slice_.relation:
        return f"`{slice_.relation}` is not the contract's source any more"
    lists = (slice_.bounds.listed, slice_.bounds.seen) if slice_.bounds else ()
    lost = [path for path in lists if path is not None and not os.path.exists(path)]
    return f"the list of rows `{lost[0]}` is gone" if lost else None


def read_database(contract: Contract, *, root: str | None, window: Window | None) -> DatabaseRead:
    """All that an engine needs to read the contract's database."""
    database = _database(contract)
    relation, url = _relation(database), _url(contract, database, root)
    parts = (database.partition_column, database.num_partitions or 1) if database.partition_column else None
    read = DatabaseRead(relation, url, partial(_open_stream, url), database.fetch_size, parts=parts)
    if not has_client(relation.kind):
        if parts is not None:
            raise CapabilityError(f"`{relation.kind}` is read through one connection only", hint="drop num_partitions")
        return read
    with open_client(url) as client:
        natives = describe(client, relation)
    relation = replace(relation, columns=tuple(_read_columns(contract, relation, natives)))
    return replace(read, relation=relation, within=_within(contract, natives, window))


@contextmanager
def held(spec: ReadSpec | None, *, side_by_side: bool) -> Iterator[ReadSpec | None]:
    """The reading made ready: cut into parts that are read side by side, all of one state where that can be had."""
    read = spec.database if spec else None
    if spec is None or read is None or read.parts is None or read.parts[1] == 1 or not side_by_side:
        yield spec
        return
    with open_client(read.url) as client:
        split = _split(client, read.relation, *read.parts)
        yield replace(spec, database=replace(read, split=split, snapshot=client.export_snapshot()))


def _split(client: Client, relation: DatabaseRelation, name: str, count: int) -> Split | None:
    natives = {column.name: column for column in describe(client, relation)}
    if name not in natives:
        raise CapabilityError(f"`{relation.name}` has no column `{name}` to be read in parts by")
    rows = client.estimate(relation)
    sampled = 100 * _SAMPLED_ROWS / rows if rows and rows > 2 * _SAMPLED_ROWS else None
    limits = client.values(select_limits(relation, name, count, sampled))
    numeric = bool(limits) and is_numeric(relation.kind, natives[name].type, limits[0])
    conditions = split_by(relation, limits[1:], numeric=numeric)
    return Split(name, conditions) if conditions else None


def _whole_unasked(contract: Contract, relation: DatabaseRelation) -> tuple[Slice, str]:
    if contract.source is not None and contract.source.load_mode != "full":
        raise CapabilityError(f"`{relation.kind}` is read whole only", hint="set `load_mode: full`")
    return DatabaseSlice(relation_key(relation)), f"full load of {relation.name}"


def _database(contract: Contract) -> Database:
    assert contract.source is not None and contract.source.database is not None
    return contract.source.database


def _relation(database: Database) -> DatabaseRelation:
    return DatabaseRelation(database.address.kind, database.table, database.query)


def _url(contract: Contract, database: Database, root: str | None) -> DatabaseUrl:
    url = database.address
    if url.kind != "sqlite":
        return url
    return replace(url, database=os.path.join(os.path.abspath(root or contract.folder), url.database))


def _open_stream(url: DatabaseUrl, sql: str, columns: Sequence[ReadColumn], fetch_size: int) -> Any:
    with open_client(url) as client:  # the stream has a connection of its own
        rows: pa.RecordBatchReader = client.stream(sql, arrow_schema(columns), fetch_size)
        return rows


def _marked(contract: Contract, natives: Sequence[NativeColumn]) -> tuple[str, ...]:
    """The columns that make a row what it is: those that the contract knows, or all where it knows none."""
    assert contract.source is not None
    declared = {name for field in contract.fields for name in (field.name, *field.aliases)}
    wanted = declared | {*contract.primary_key, contract.source.watermark_field}
    every = not contract.fields or contract.source.columns == "all"
    return tuple(column.name for column in natives if every or column.name in wanted)


def _read_columns(
    contract: Contract, relation: DatabaseRelation, natives: Sequence[NativeColumn]
) -> Iterator[ReadColumn]:
    declared = {name: field for field in contract.fields for name in (field.name, *field.aliases)}
    for native in natives:
        field = declared.get(native.name)
        # A format is for texts: a time of the database must not become one to be read by it.
        formatted = field is not None and field.format is not None and is_time(relation.kind, native.type)
        wanted = parse_type(field.type) if field is not None and not formatted else None
        yield read_column(relation.kind, native, wanted)


def _within(contract: Contract, natives: Sequence[NativeColumn], window: Window | None) -> Within | None:
    """The window as a condition, where the database has the date as a date; else rows are narrowed after the read."""
    name = window_column(contract, window)
    native = next((column for column in natives if column.name == name), None)
    if window is None or name is None or native is None or last_maker(contract, name) is not None:
        return None
    field = contract.model.field(name)
    wanted = parse_type(field.type) if field else None
    kind = _database(contract).address.kind
    if wanted is None or family(wanted) not in {"date", "timestamp"} or kind == "sqlite":
        return None
    return Within(name, *window_texts(window, wanted)) if is_time(kind, native.type) else None
