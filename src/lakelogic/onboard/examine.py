"""Look at the machine: what a run needs, and whether it is there. Imports and starts nothing heavy."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from lakelogic.core.settings import Settings, user_cache
from lakelogic.onboard.fetch_jars import DELTA, DRIVERS, KAFKA, has_jars
from lakelogic.onboard.java import HOW_TO_GET_JAVA, find_java

State = Literal["ok", "missing", "optional", "warning"]
OLDEST_PYTHON = (3, 11)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for. `missing` stops the wanted engine, `optional` and `warning` do not."""

    name: str
    state: State
    detail: str
    hint: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        return {"name": self.name, "state": self.state, "detail": self.detail, "hint": self.hint}


def examine(
    settings: Settings, environ: Mapping[str, str], *, engine: str, python: tuple[int, ...]
) -> tuple[Finding, ...]:
    """Look for all that runs on `engine` need, and for what other engines would need."""
    spark = engine == "spark"
    return (
        _python(python),
        _package("deltalake", needed=True, hint="pip install --force-reinstall lakelogic"),
        _java(environ, needed=spark),
        _package("pyspark", needed=spark, hint="pip install 'lakelogic[spark]'"),
        _jars(settings, needed=spark),
        _package("duckdb", needed=engine == "duckdb", hint="pip install 'lakelogic[duckdb]'"),
        _package("polars", needed=engine == "polars", hint="pip install 'lakelogic[polars]'"),
        _package("grpcio", needed=False, hint="for --remote: pip install 'lakelogic[connect]'"),
        _package("confluent-kafka", needed=False, hint="for Kafka sources: pip install 'lakelogic[kafka]'"),
        _kafka_jars(settings),
        _driver_jars(settings),
        _package(
            "adbc-driver-postgresql", needed=False, hint="for database sources: pip install 'lakelogic[databases]'"
        ),
        _key(settings),
        *_folders(settings, environ),
    )


def _python(version: tuple[int, ...]) -> Finding:
    shown = ".".join(str(number) for number in version)
    if version >= OLDEST_PYTHON:
        return Finding("python", "ok", shown)
    return Finding("python", "missing", shown, "LakeLogic needs Python 3.11 or newer")


def _package(name: str, *, needed: bool, hint: str) -> Finding:
    try:
        return Finding(name, "ok", metadata.version(name))
    except metadata.PackageNotFoundError:
        return Finding(name, "missing" if needed else "optional", "not installed", hint)


def _java(environ: Mapping[str, str], *, needed: bool) -> Finding:
    java = find_java(environ)
    absent: State = "missing" if needed else "optional"
    if java is None:
        where = "JAVA_HOME holds no bin/java" if environ.get("JAVA_HOME") else "not in PATH"
        return Finding("java", absent, where, HOW_TO_GET_JAVA)
    if java.too_old:
        return Finding("java", absent, f"{java.version} is too old", HOW_TO_GET_JAVA)
    return Finding("java", "ok", f"{java.version or 'version unknown'} ({java.program})")


def _jars(settings: Settings, *, needed: bool) -> Finding:
    if has_jars(settings.jars):
        return Finding("delta jars", "ok", str(settings.jars))
    hint = f"`lakelogic setup` fetches {DELTA.coordinates}; or set LAKELOGIC_JARS to a folder that holds them"
    return Finding("delta jars", "missing" if needed else "optional", f"not in {settings.jars}", hint)


def _kafka_jars(settings: Settings) -> Finding:
    if has_jars(settings.jars, KAFKA):
        return Finding("kafka jars", "ok", str(settings.jars))
    return Finding(
        "kafka jars", "optional", f"not in {settings.jars}", "for Kafka sources: lakelogic setup --with kafka"
    )


def _driver_jars(settings: Settings) -> Finding:
    there = [package.name for package in DRIVERS if has_jars(settings.jars, package)]
    lacking = [package.name for package in DRIVERS if package.name not in there]
    hint = f"for these databases on Spark: lakelogic setup --with {lacking[0]}" if lacking else None
    shown = f"not there: {', '.join(lacking)}" if lacking else f"all in {settings.jars}"
    return Finding("database drivers", "optional" if lacking else "ok", shown, hint)


def _key(settings: Settings) -> Finding:
    if settings.pii_key is not None:
        return Finding("LAKELOGIC_PII_KEY", "ok", "set")
    hint = "set it before a contract encrypts personal data; without it hashes are salted only"
    return Finding("LAKELOGIC_PII_KEY", "warning", "not set", hint)


def _folders(settings: Settings, environ: Mapping[str, str]) -> tuple[Finding, ...]:
    folders = {
        "working folder": Path.cwd(),
        "temporary folder": Path(tempfile.gettempdir()),
        "cache": user_cache(environ),
    }
    for name, given in (("warehouse", settings.warehouse), ("state", settings.state)):
        # What lies on an object store is asked when a run enters it.
        if given is not None and "://" not in given:
            folders[name] = Path(given)
    return tuple(_folder(name, path) for name, path in folders.items())


def _folder(name: str, path: Path) -> Finding:
    existing = next(place for place in (path, *path.absolute().parents) if place.exists())
    if existing.is_dir() and os.access(existing, os.W_OK):
        return Finding(name, "ok", str(path))
    return Finding(name, "warning", f"{path} cannot be written to", "give yourself the right to write there")
