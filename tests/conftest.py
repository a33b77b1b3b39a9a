"""Fixtures that several test folders share; there is one Spark session per test process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from lakelogic.core.settings import Settings, read_settings

_PROJECT = Path(__file__).parent.parent

# How long one example takes says nothing on a machine that runs others beside it.
settings.register_profile("lakelogic", deadline=None)
settings.load_profile("lakelogic")

# Tests move few rows. What the JVM's second compiler does for them costs two fifths of the time and never pays, and
# compiling the code of a plan costs more than half of what is left. Most tests are about commits, positions and orders
# of events; those about values ask for `compiled`, the way large batches run.
_COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
# Spark takes properties of its JVM for settings: this holds for every process that a test starts.
_JVM = ["-XX:TieredStopAtLevel=1", *[f"-D{name}={value}" for name, value in _INTERPRETED.items()]]
os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join(_JVM))


@pytest.fixture(scope="session")
def spark_settings() -> Settings:
    """The operator's settings, with the jars of the project's own cache unless others are named."""
    environ = dict(os.environ)
    cache = _PROJECT / ".cache" / "jars"
    if cache.is_dir():
        environ.setdefault("LAKELOGIC_JARS", str(cache))
    settings = read_settings(environ)
    if not any(settings.jars.glob("*delta-spark*.jar")):
        pytest.skip("Delta's jars are missing: make setup")
    return settings


@pytest.fixture(scope="session")
def spark_session(spark_settings: Settings) -> Iterator[Any]:
    """The one Spark session of this test process; `make connect` names a server for it."""
    from lakelogic.engine.spark.session import close_session, open_session

    remote = os.environ.get("LAKELOGIC_TEST_REMOTE")
    session = open_session(spark_settings, master="local[2]", remote=remote, conf=_INTERPRETED)
    yield session.spark
    close_session(session)


@pytest.fixture(scope="module")
def compiled(spark_session: Any) -> Iterator[Any]:
    """The session, with plans compiled as they are outside of tests."""
    with compiled_plans(spark_session):
        yield spark_session


@contextmanager
def compiled_plans(session: Any) -> Iterator[None]:
    """Compile plans inside the block."""
    for name, value in _COMPILED.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in _INTERPRETED.items():
            session.conf.set(name, value)
