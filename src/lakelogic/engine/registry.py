"""Engines by name, imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from lakelogic.core.errors import RunError
from lakelogic.core.keys import MaskKeys, derive_keys
from lakelogic.core.settings import Settings
from lakelogic.engine.protocol import Engine

# name -> module, class; each class has `open(options: EngineOptions) -> Engine`.
_ENGINES: Mapping[str, tuple[str, str]] = {
    "spark": ("lakelogic.engine.spark.engine", "SparkEngine"),
    "duckdb": ("lakelogic.engine.duckdb.engine", "DuckDbEngine"),
    "polars": ("lakelogic.engine.polars.engine", "PolarsEngine"),
}
UNKNOWN_ENGINE, MISSING_PACKAGE = "LL485", "LL486"
# Told without opening an engine: a run that would have to be refused asks no broker.
READS_TOPICS = frozenset({"spark"})
# Engines that read the parts of a database side by side; the others read through one connection.
READS_IN_PARTS = frozenset({"spark"})


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What an engine is opened with; an engine refuses what it cannot use."""

    settings: Settings = field(default_factory=Settings)
    keys: MaskKeys = field(default_factory=lambda: derive_keys(None))
    master: str | None = None
    remote: str | None = None
    session: Any = None  # the caller's own Spark session
    conf: Mapping[str, str] = field(default_factory=dict)  # the contract's `spark:` settings


def engine_names() -> tuple[str, ...]:
    return tuple(_ENGINES)


def open_engine(name: str, options: EngineOptions | None = None) -> Engine:
    """Open the engine of that name; the caller closes it."""
    if name not in _ENGINES:
        raise RunError(f"unknown engine `{name}`", hint=f"one of: {', '.join(_ENGINES)}", code=UNKNOWN_ENGINE)
    module, class_name = _ENGINES[name]
    try:
        engine_class = getattr(import_module(module), class_name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "lakelogic":
            raise
        raise RunError(
            f"engine `{name}` needs the package `{error.name}`, which is not installed",
            hint=f"pip install 'lakelogic[{name}]'",
            code=MISSING_PACKAGE,
        ) from error
    engine: Engine = engine_class.open(options or EngineOptions())
    return engine
