"""A Spark engine on the shared session, and short ways to make what it takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakelogic.core.keys import derive_keys
from lakelogic.core.slices import FileSlice, SourceFile
from lakelogic.engine.registry import EngineOptions, open_engine

SECRET = "correct horse battery staple"


@pytest.fixture(scope="session")
def spark_engine(spark_session: Any) -> Any:
    return open_engine("spark", EngineOptions(session=spark_session, keys=derive_keys(SECRET)))


@pytest.fixture(scope="module", autouse=True)
def _compiled(compiled: Any) -> None:
    """What an engine reads and computes is tried the way large batches run."""


@pytest.fixture
def slice_of() -> Callable[..., FileSlice]:
    def make(*paths: Path) -> FileSlice:
        return FileSlice(tuple(SourceFile(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths))

    return make
