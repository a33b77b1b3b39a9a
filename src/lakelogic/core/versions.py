"""Which versions are at work."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

# The package that an engine's name stands for.
ENGINE_PACKAGES = {"spark": "pyspark", "duckdb": "duckdb", "polars": "polars"}


@cache
def find_version(package: str) -> str | None:
    """The installed version of a package; nothing is imported for it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def find_engine_version(engine: str) -> str | None:
    return find_version(ENGINE_PACKAGES.get(engine, engine))
