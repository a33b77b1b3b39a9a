"""Parquet files that a stage leaves: written split by partition, measured, and read back."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import polars as pl
import pyarrow.parquet as pq

from lakelogic.engine.local.lines import local_path
from lakelogic.engine.polars.casts import cast, to_text
from lakelogic.engine.polars.relations import rows_of, settled
from lakelogic.engine.polars.rows import Rows
from lakelogic.engine.polars.types import Type, has_no_type, keeps_type, of_plan
from lakelogic.engine.polars.values import Value
from lakelogic.engine.protocol import StageInput
from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import Column
from lakelogic.storage.address import is_remote
from lakelogic.storage.files import upload
from lakelogic.storage.tables import arrow_place

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_KEY = "\0partition"
# The lowest level: files are as small for most tables, and are written in four fifths of the time.
_WRITTEN: Any = {"compression": "zstd", "compression_level": 1}


def write_files(rows: Rows, place: tuple[str, str], partition_by: Sequence[str] = ()) -> tuple[StagedFile, ...]:
    """Write rows below root/folder; files without rows are not left behind."""
    root, folder = place
    if is_remote(root):
        return _write_remote(rows, place, partition_by)
    target = local_path(root) / folder
    target.mkdir(parents=True, exist_ok=True)
    if not partition_by:
        path = target / f"part-{uuid.uuid4().hex}.parquet"
        settled(rows).sink_parquet(path, **_WRITTEN)
        return _measured([(path, {})], local_path(root))
    return _measured(_write_partitions(rows, target, partition_by), local_path(root))


def write_split(rows: Rows, by: str, place: tuple[str, str]) -> tuple[StagedFile, ...]:
    """Write rows below root/folder in one pass, each in the folder that has the name of its value of one column."""
    root, folder = place
    if is_remote(root):
        return _uploaded(root, lambda scratch: write_split(rows, by, (scratch, folder)))
    target = local_path(root) / folder
    paths: list[Path] = []

    def path_of(args: pl.io.partition.FileProviderArgs) -> str:
        path = f"{args.partition_keys.item()}/part-{uuid.uuid4().hex}.parquet"
        paths.append(target / path)
        return path

    split = pl.PartitionBy(target, key=by, include_key=False, file_path_provider=path_of)
    settled(rows).sink_parquet(split, **_WRITTEN, mkdir=True)
    return _measured([(path, {}) for path in paths], local_path(root))


def _write_remote(rows: Rows, place: tuple[str, str], partition_by: Sequence[str]) -> tuple[StagedFile, ...]:
    root, folder = place
    return _uploaded(root, lambda scratch: write_files(rows, (scratch, folder), partition_by))


def _uploaded(root: str, write: Callable[[str], tuple[StagedFile, ...]]) -> tuple[StagedFile, ...]:
    """Files are made whole on the local disk first: a store shows an object when it is complete, and so do we."""
    with TemporaryDirectory(prefix="lakelogic-upload-") as scratch:
        files = write(scratch)
        for file in files:
            upload(f"{scratch}/{file.path}", f"{root.rstrip('/')}/{file.path}")
    return files


def _write_partitions(rows: Rows, target: Path, names: Sequence[str]) -> list[tuple[Path, dict[str, str | None]]]:
    """Partition values are text, in the form that Delta's log has; an empty text is NULL, as in Hive."""
    found: dict[str, dict[str, str | None]] = {}
    keys = {f"{_KEY}{n}": _partition_text(rows, name) for n, name in enumerate(names)}

    def path_of(args: pl.io.partition.FileProviderArgs) -> str:
        values = dict(zip(names, args.partition_keys.row(0), strict=True))
        folder = "/".join(f"{_escaped(name)}={_escaped(value)}" for name, value in values.items())
        path = f"{folder}/part-{uuid.uuid4().hex}.parquet"
        found[path] = values
        return path

    keyed = settled(rows).with_columns([text.alias(key) for key, text in keys.items()]).drop(list(names))
    split = pl.PartitionBy(target, key=list(keys), include_key=False, file_path_provider=path_of)
    keyed.sink_parquet(split, **_WRITTEN, mkdir=True)
    return [(target / path, values) for path, values in found.items()]


def _partition_text(rows: Rows, name: str) -> pl.Expr:
    text = to_text(Value(pl.col(name), rows.types[name])).expr
    return pl.when(text != "").then(text)


def _escaped(text: str | None) -> str:
    return _NULL_PARTITION if text is None else quote(text, safe=" ")


def _measured(written: Sequence[tuple[Path, Mapping[str, str | None]]], root: Path) -> tuple[StagedFile, ...]:
    files = []
    for path, partition in sorted(written, key=lambda pair: pair[0]):
        rows = pq.read_metadata(path).num_rows
        if not rows:
            path.unlink()
            continue
        files.append(StagedFile(path.relative_to(root).as_posix(), path.stat().st_size, rows, partition))
    return tuple(files)


def read_staged(staged: StageInput, *, exact: bool = False) -> Rows:
    """The rows of staged files, partition columns included, in their declared types.

    Hidden columns keep the type that they have in the files, unless all are to be `exact`.
    """
    types = {column.name: _type_of(column) for column in staged.columns}
    if not staged.staged or staged.staged_root is None:
        return Rows(pl.LazyFrame(schema=types), types)
    parts = [_read_file(staged.staged_root, file, staged.columns, exact) for file in staged.staged]
    known = {name: parts[0].types[name] if has_no_type(c) else types[name] for c in staged.columns for name in [c.name]}
    return Rows(pl.concat([part.frame for part in parts], how="vertical_relaxed"), known)


def _type_of(column: Column) -> Type:
    return pl.String() if has_no_type(column) else of_plan(column.type)


def read_rejected(staged: StageInput) -> Rows:
    """The rejected files with all that stands in them, also what no table has."""
    frames = [scan_parquet(_path_of(staged.staged_root or "", file)) for file in staged.staged]
    return rows_of(pl.concat(frames, how="diagonal_relaxed"))


def scan_parquet(path: str) -> pl.LazyFrame:
    if not is_remote(path):
        return pl.scan_parquet(local_path(path), hive_partitioning=False, glob=False)
    disk, inside = arrow_place(path)
    with disk.open_input_file(inside) as file:
        table = pq.ParquetFile(file).read()
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.lazy()


def _path_of(root: str, file: StagedFile) -> str:
    return f"{root.rstrip('/')}/{file.path}" if is_remote(root) else str(local_path(root) / file.path)


def _read_file(root: str, file: StagedFile, columns: Sequence[Column], exact: bool) -> Rows:
    rows = rows_of(scan_parquet(_path_of(root, file)))
    values = {column.name: _value(column, file.partition, rows, exact) for column in columns}
    frame = rows.frame.select([value.expr.alias(name) for name, value in values.items()])
    return Rows(frame, {name: value.type for name, value in values.items()})


def _value(column: Column, partition: Mapping[str, str | None], rows: Rows, exact: bool) -> Value:
    if column.name in partition:
        text = Value(pl.lit(partition[column.name], dtype=pl.String), pl.String())
        return cast(text, of_plan(column.type))
    if column.name not in rows.types:
        return Value(pl.lit(None, dtype=_type_of(column)), _type_of(column))
    there = Value(pl.col(column.name), rows.types[column.name])
    return there if keeps_type(column) and not exact else cast(there, of_plan(column.type))
