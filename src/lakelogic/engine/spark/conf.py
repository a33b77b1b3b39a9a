"""The settings of a Spark that we start: tuned to start fast where it is local, left to the cluster where it is not."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from lakelogic.core.errors import RunError
from lakelogic.core.settings import Settings
from lakelogic.core.spark_settings import HELD
from lakelogic.engine.spark.archive import archive_option, find_archive
from lakelogic.engine.spark.stores import REDACTION

SETUP_HINT = "run `make setup`, or `lakelogic doctor` to see what is missing"

# A JVM never compiles a method above 8,000 bytes of code unless it is told to, and ours is. With others Spark must give
# up one loop for a whole stage instead of having it interpreted; a dozen columns with checks are enough for that.
HUGE_METHODS = "spark.sql.codegen.hugeMethodLimit"
COMPILES_HUGE_METHODS = "spark.lakelogic.compilesHugeMethods"

# What every call of ours relies on; an existing session gets it for the length of the call only.
CALL_SETTINGS: Mapping[str, str] = {**HELD, HUGE_METHODS: "8000"}

# A contract is one large generated method, in which the JVM would stop to inline what it calls.
_INLINE = ("-XX:-ClipInlining", "-XX:-DontCompileHugeMethods", "-XX:+IgnoreUnrecognizedVMOptions")
_DEEP = "-Xss8m"  # Spark walks a plan by calls within calls, and every step of a contract lies one deeper


def start_conf(settings: Settings, master: str) -> dict[str, str]:
    """What a session of ours starts with."""
    own = _local_conf if is_local(master) else _cluster_conf
    return {**_common_conf(), **own(settings, master)}


def is_local(master: str) -> bool:
    """Whether the driver does all the work; `local-cluster` starts executors of its own."""
    return master == "local" or master.startswith("local[")


def find_jars(settings: Settings) -> list[Path]:
    """The jars of the cache folder; Delta's must be among them."""
    jars = sorted(settings.jars.glob("*.jar")) if settings.jars.is_dir() else []
    if not any("delta-spark" in jar.name for jar in jars):
        raise RunError(f"Delta's jar for Spark is not in `{settings.jars}`", hint=SETUP_HINT, code="LL412")
    return jars


def _common_conf() -> dict[str, str]:
    return {
        **CALL_SETTINGS,
        HUGE_METHODS: "65535",
        COMPILES_HUGE_METHODS: "true",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.redaction.regex": REDACTION,
        "spark.ui.showConsoleProgress": "false",
    }


def _cluster_conf(settings: Settings, master: str) -> dict[str, str]:
    """Jars go to the executors; addresses, memory, parallelism and the user interface are the cluster's business."""
    jars = find_jars(settings)
    return {
        "spark.jars": ",".join(str(jar) for jar in jars),
        # The driver's own loader must see Delta's parser and catalog before any jar of an application is added.
        "spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in jars),
        "spark.driver.extraJavaOptions": " ".join([*_INLINE, _DEEP, _log_option()]),
        "spark.executor.extraJavaOptions": " ".join(_INLINE),
    }


def _local_conf(settings: Settings, master: str) -> dict[str, str]:
    jars = find_jars(settings)
    scratch = Path(tempfile.gettempdir()) / f"lakelogic-spark-{os.getuid()}"
    java_options = [
        "-XX:+UseParallelGC",
        *_INLINE,
        _DEEP,
        f"-Dderby.system.home={scratch}",
        _log_option(),
        *archive_option(find_archive(settings.jars, jars)),
    ]
    return {
        # On the class path, not in spark.jars: nothing is copied, and the class archive covers them.
        "spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in jars),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.driver.memory": _driver_memory(),
        "spark.driver.extraJavaOptions": " ".join(java_options),
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(2 * _cores(master)),
        "spark.databricks.delta.snapshotPartitions": "2",
    }


def _cores(master: str) -> int:
    found = re.fullmatch(r"local\[(\d+)(?:,\d+)?\]", master)
    return int(found.group(1)) if found else os.cpu_count() or 2


def _driver_memory() -> str:
    """A quarter of the machine, between 1 and 8 GiB: local Spark does all its work in the driver."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{min(8192, max(1024, total // 4 // 2**20))}m"


def _log_option() -> str:
    return f"-Dlog4j2.configurationFile={files('lakelogic.engine.spark').joinpath('log4j2.properties')}"
