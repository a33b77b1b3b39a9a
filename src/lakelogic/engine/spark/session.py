"""Spark sessions: the caller's, a remote one, one that was started for us, or one of our own, here or on a cluster."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loguru import logger
from pyspark.sql import SparkSession

from lakelogic.core.errors import RunError
from lakelogic.core.settings import Settings
from lakelogic.engine.spark.conf import (
    CALL_SETTINGS,
    COMPILES_HUGE_METHODS,
    HUGE_METHODS,
    SETUP_HINT,
    start_conf,
)
from lakelogic.engine.spark.failures import translated
from lakelogic.engine.spark.given import is_given, join_given
from lakelogic.engine.spark.quiet import quiet_start

_MINIMUM_JAVA = 17

_TAG = "lakelogic-"
_lock = threading.RLock()
_shared: dict[tuple[str, ...], tuple[SparkSession, int]] = {}
_holds: dict[int, tuple[int, dict[str, str | None]]] = {}


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session in use; `key` is set where we started it and so must stop it."""

    spark: SparkSession
    key: tuple[str, ...] | None = None
    own: bool = False  # a further session of an application that we started

    @property
    def local(self) -> bool:
        """Whether we started the Spark that this session is of."""
        return self.own or (self.key is not None and self.key[0] == "local")


def open_session(
    settings: Settings,
    *,
    master: str | None = None,
    remote: str | None = None,
    spark: SparkSession | None = None,
    conf: Mapping[str, str] | None = None,
) -> OpenSession:
    """Open a session; those that we start are shared by all callers of this process."""
    if spark is not None:
        return OpenSession(spark)
    address = remote or settings.remote
    if address:
        return _share(("remote", address), lambda: _connect(address, conf or {}))
    chosen = master or settings.master
    if chosen is None and is_given(spark for spark, _ in _shared.values()):
        return OpenSession(join_given(conf or {}))
    chosen = chosen or "local[*]"
    return _share(("local", chosen), lambda: _start(settings, chosen, conf or {}))


def close_session(session: OpenSession) -> None:
    """Stop the session when its last user closes it; a caller's own session is left alone."""
    if session.key is None:
        return
    with _lock:
        spark, users = _shared[session.key]
        if users > 1:
            _shared[session.key] = (spark, users - 1)
            return
        del _shared[session.key]
        spark.stop()


@contextmanager
def settings_for_call(spark: SparkSession) -> Iterator[None]:
    """Hold our settings while calls run; the last call that ends puts the session's own back."""
    _hold(spark)
    try:
        yield
    finally:
        _release(spark)


def require_java() -> None:
    """Refuse early, in words, what Spark would refuse with a stack trace."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None:
        raise RunError(
            "Java is not installed",
            hint=f"install Java {_MINIMUM_JAVA} or newer; {SETUP_HINT}",
            code="LL413",
        )
    version = _java_version(java)
    if version is not None and version < _MINIMUM_JAVA:
        raise RunError(
            f"Java {version} is too old for Spark",
            hint=f"install Java {_MINIMUM_JAVA} or newer and set JAVA_HOME",
            code="LL413",
        )


def _java_version(java: str) -> int | None:
    release = Path(java).resolve().parent.parent / "release"
    if release.is_file():
        text = release.read_text(errors="replace")
    else:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None


def _share(key: tuple[str, ...], start: Callable[[], SparkSession]) -> OpenSession:
    with _lock:
        found = _shared.get(key)
        spark, users = found if found else (start(), 0)
        _shared[key] = (spark, users + 1)
    return OpenSession(spark, key)


def _connect(address: str, conf: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.remote(address)
    for name, value in conf.items():
        builder = builder.config(name, value)
    with translated(f"connecting to `{address}`"):
        return builder.getOrCreate()


def _start(settings: Settings, master: str, conf: Mapping[str, str]) -> SparkSession:
    require_java()
    wanted = {**start_conf(settings, master), **conf}
    builder = SparkSession.builder.master(master).appName("lakelogic")
    for name, value in wanted.items():
        builder = builder.config(name, value)
    with quiet_start(), translated("starting a session"):
        return builder.getOrCreate()


def _hold(spark: SparkSession) -> None:
    with _lock:
        count, before = _holds.get(id(spark), (0, {}))
        if count == 0:
            wanted = _call_settings(spark)
            before = {name: spark.conf.get(name, None) for name in wanted}
            for name, value in wanted.items():
                if before[name] != value:
                    spark.conf.set(name, value)
        _holds[id(spark)] = (count + 1, before)


def _call_settings(spark: SparkSession) -> Mapping[str, str]:
    if spark.conf.get(COMPILES_HUGE_METHODS, None) is None:
        return CALL_SETTINGS
    return {name: value for name, value in CALL_SETTINGS.items() if name != HUGE_METHODS}


def _release(spark: SparkSession) -> None:
    with _lock:
        count, before = _holds[id(spark)]
        if count > 1:
            _holds[id(spark)] = (count - 1, before)
            return
        del _holds[id(spark)]
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            elif value != CALL_SETTINGS[name]:
                spark.conf.set(name, value)


def fork_session(spark: Any, pool: str, conf: Mapping[str, str]) -> SparkSession:
    """A session of its own on the same application: settings, views and functions of others do not reach it.

    Jobs of the calling thread go to a scheduler pool of that name.
    """
    if not isinstance(spark, SparkSession):
        return spark  # type: ignore[no-any-return]  # Spark Connect: a client has one session, and our calls leave nothing in it
    own = spark.newSession()
    for name, value in conf.items():
        # What only the start of an application can set was set then, or another contract said otherwise.
        if own.conf.isModifiable(name):
            own.conf.set(name, value)
        elif own.conf.get(name, None) != value:
            logger.warning(f"`{name}` can be set only when Spark starts, and is not what `{pool}` asks for")
    own.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
    return own


def new_tag() -> str:
    return f"{_TAG}{uuid.uuid4().hex}"


def tag_thread(spark: Any, tag: str) -> None:
    """Have `interrupt_session` reach the jobs of the calling thread, also tasks that wait for a read."""
    if isinstance(spark, SparkSession):
        spark.sparkContext.setLocalProperty("spark.job.interruptOnCancel", "true")
        return
    # A thread of a client keeps the tags of the contracts that it ran before.
    for other in spark.getTags():
        if other.startswith(_TAG):
            spark.removeTag(other)
    spark.addTag(tag)


def interrupt_session(spark: Any, tag: str) -> None:
    """Cancel the jobs of a session, from any thread; of a client that shares one, those of the tag."""
    if isinstance(spark, SparkSession):
        # Not by tag: in the JVM a tag is known only to the thread that set it.
        spark.interruptAll()
    else:
        spark.interruptTag(tag)
