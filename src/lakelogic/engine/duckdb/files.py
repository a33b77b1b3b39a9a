"""Parquet files that a stage leaves: written split by partition, measured, and read back."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

from lakelogic.engine.duckdb.relations import Relations
from lakelogic.engine.duckdb.render import type_sql
from lakelogic.engine.duckdb.types import empty_relation, exact_column, literal, null_column, quote, typed_column
from lakelogic.engine.local.lines import local_path
from lakelogic.engine.protocol import StageInput
from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import Column
from lakelogic.storage.address import is_remote
from lakelogic.storage.files import upload

# The lowest level: files are as small for most tables, and are written in nine tenths of the time.
_OPTIONS = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1"
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def write_files(
    relations: Relations, sql: str, place: tuple[str, str], partition_by: Sequence[str] = ()
) -> tuple[StagedFile, ...]:
    """Write a query's rows below root/folder; files without rows are not left behind."""
    root, folder = place
    if is_remote(root):
        return _write_remote(relations, sql, place, partition_by)
    target = local_path(root) / folder
    target.mkdir(parents=True, exist_ok=True)
    if partition_by:
        _write_partitions(relations, sql, target, partition_by)
    else:
        path = target / f"part-{uuid.uuid4().hex}.parquet"
        relations.session.run(f"COPY ({sql}) TO {literal(str(path))} ({_OPTIONS})")
    return _measured(relations, target, local_path(root), partition_by)


def _write_remote(
    relations: Relations, sql: str, place: tuple[str, str], partition_by: Sequence[str]
) -> tuple[StagedFile, ...]:
    """Files are made whole on the local disk first: a store shows an object when it is complete, and so do we."""
    root, folder = place
    with TemporaryDirectory(prefix="lakelogic-upload-") as scratch:
        files = write_files(relations, sql, (scratch, folder), partition_by)
        for file in files:
            upload(f"{scratch}/{file.path}", f"{root.rstrip('/')}/{file.path}")
    return files


def staged_path(root: str, file: StagedFile) -> str:
    """A staged file as DuckDB is to be told it."""
    return f"{root.rstrip('/')}/{file.path}" if is_remote(root) else str(local_path(root) / file.path)


def read_staged(relations: Relations, staged: StageInput, *, exact: bool = False) -> str:
    """SQL for the rows of staged files, partition columns included, in their declared types.

    Hidden columns keep the type that they have in the files, unless all are to be `exact`.
    """
    if not staged.staged or staged.staged_root is None:
        return empty_relation(staged.columns)
    groups: dict[tuple[tuple[str, str | None], ...], list[str]] = {}
    for file in staged.staged:
        path = staged_path(staged.staged_root, file)
        groups.setdefault(tuple(sorted(file.partition.items())), []).append(path)
    parts = [_read_group(relations, dict(keys), paths, staged.columns, exact) for keys, paths in groups.items()]
    return " UNION ALL ".join(parts)


def read_rejected(staged: StageInput) -> str:
    """The rejected files with all that stands in them, also what no table has."""
    paths = [literal(staged_path(staged.staged_root or "", file)) for file in staged.staged]
    return f"SELECT * FROM read_parquet([{', '.join(paths)}], hive_partitioning = false, union_by_name = true)"


def _read_group(
    relations: Relations,
    partition: Mapping[str, str | None],
    paths: Sequence[str],
    columns: Sequence[Column],
    exact: bool,
) -> str:
    listed = ", ".join(literal(path) for path in paths)
    files = f"read_parquet([{listed}], hive_partitioning = false, union_by_name = true)"
    there = {name for name, _ in relations.describe(f"SELECT * FROM {files}")}
    chosen = ", ".join(_column(column, partition, there, exact) for column in columns)
    return f"SELECT {chosen or '*'} FROM {files}"


def _column(column: Column, partition: Mapping[str, str | None], there: set[str], exact: bool) -> str:
    if column.name in partition:
        value = partition[column.name]
        text = "NULL" if value is None else literal(value)
        return f"CAST({text} AS {type_sql(column.type)}) AS {quote(column.name)}"
    if column.name not in there:
        return null_column(column)
    return exact_column(column) if exact else typed_column(column)


def _write_partitions(relations: Relations, sql: str, target: Path, names: Sequence[str]) -> None:
    """Partition values stand in the paths as text, in the form that Delta's log has."""
    texts = ", ".join(f"{_partition_text(name)} AS {quote(name)}" for name in names)
    keys = ", ".join(map(quote, names))
    relations.session.run(
        f"COPY (SELECT * REPLACE ({texts}) FROM ({sql})) TO {literal(str(target))}"
        f" ({_OPTIONS}, PARTITION_BY ({keys}), FILENAME_PATTERN 'part-{{uuid}}', OVERWRITE_OR_IGNORE)"
    )


def _partition_text(name: str) -> str:
    # An empty text is NULL as a partition value, in Delta as in Hive.
    return f"nullif(ll_text({quote(name)}), '')"


def _measured(relations: Relations, target: Path, root: Path, partition_by: Sequence[str]) -> tuple[StagedFile, ...]:
    files = []
    for path in sorted(target.rglob("*.parquet")):
        rows = _rows(relations, path)
        if not rows:
            path.unlink()
            continue
        relative = path.relative_to(target).parts[:-1]
        partition = dict(_partition_value(part) for part in relative) if partition_by else {}
        files.append(StagedFile(path.relative_to(root).as_posix(), path.stat().st_size, rows, partition))
    return tuple(files)


def _rows(relations: Relations, path: Path) -> int:
    found: Any = relations.session.run(f"SELECT num_rows FROM parquet_file_metadata({literal(str(path))})").fetchall()[
        0
    ]
    return int(found[0])


def _partition_value(part: str) -> tuple[str, str | None]:
    name, _, value = part.partition("=")
    return unquote(name), None if value == _NULL_PARTITION else unquote(value)
