"""Files whose damage shows only while their rows are read: libraries tell of it, and not always in which file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.dataset as ds

from lakelogic.core.errors import RunError
from lakelogic.core.slices import FileSlice
from lakelogic.engine.file_columns import unreadable_files
from lakelogic.engine.local.failures import STOPPED
from lakelogic.engine.protocol import StageInput
from lakelogic.storage.address import is_remote
from lakelogic.storage.tables import arrow_place, open_parquet


@contextmanager
def damage_named(source: StageInput) -> Iterator[None]:
    """After a failure that a damaged file may have caused: read them all through, which names the first such file."""
    try:
        yield
    except (RunError, pa.ArrowException, OSError) as error:
        if not isinstance(error, RunError) or (error.problem.code == "LL488" and STOPPED not in error.problem.message):
            _look_for_damage(source)
        raise


def _look_for_damage(source: StageInput) -> None:
    if source.spec is None or not isinstance(source.slice, FileSlice):
        return
    for path in [file.path for file in source.slice.files if not is_remote(file.path)]:
        if source.spec.format == "parquet":
            with unreadable_files("a Parquet", path), open_parquet(path) as parquet:
                for _ in parquet.iter_batches():
                    pass
        elif source.spec.format == "orc":
            with unreadable_files("an ORC", path):
                disk, inside = arrow_place(path)
                for _ in ds.dataset(inside, format="orc", filesystem=disk).to_batches():
                    pass
