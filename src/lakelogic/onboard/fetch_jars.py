"""Fetch the jars that Spark needs for Delta, once, with Spark's own resolver.

The resolver knows where artifacts live and honours the usual mirror variable, so no address stands here.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from lakelogic.core.errors import RunError
from lakelogic.core.settings import Settings
from lakelogic.onboard.java import HOW_TO_GET_JAVA, find_java

# Delta releases are built for one minor version of Spark each (docs/decisions/0005-versions.md).
DELTA_PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"
DELTA_JAR = "delta-spark_4.2_2.13-4.4.0.jar"
TIMEOUT_S = 600

WAYS_OUT = f"""\
Everything that needs no Spark works without them (`lakelogic validate`, `lakelogic run --engine duckdb`).
Ways to get them:
  * a mirror:  set DEFAULT_ARTIFACT_REPOSITORY to the address of a Maven repository that you can reach,
               then run `lakelogic setup` again
  * a folder:  copy the jars of {DELTA_PACKAGE} and what it depends on to a folder
               and set LAKELOGIC_JARS to that folder"""


def has_jars(folder: Path) -> bool:
    """Whether a folder holds the Delta jar that we need; Ivy puts the organisation before the name."""
    return any(jar.name.endswith(DELTA_JAR) for jar in folder.glob("*.jar"))


def fetch_jars(settings: Settings, environ: Mapping[str, str]) -> Path:
    """Make sure that the jars are there, and say where."""
    if has_jars(settings.jars):
        return settings.jars
    if settings.jars_given:
        raise RunError(
            f"LAKELOGIC_JARS names `{settings.jars}`, but `{DELTA_JAR}` is not there",
            hint="copy the jars there, or unset LAKELOGIC_JARS to have them fetched",
            code="LL491",
        )
    settings.jars.parent.mkdir(parents=True, exist_ok=True)
    # Beside the final folder, so that the rename at the end is one step on one file system.
    with tempfile.TemporaryDirectory(dir=settings.jars.parent, prefix="fetching-") as work:
        _resolve(Path(work), environ)
        _publish(Path(work) / "jars", settings.jars)
    return settings.jars


def _resolve(work: Path, environ: Mapping[str, str]) -> None:
    spark = _find_spark()
    java = find_java(environ)
    if java is None or java.too_old:
        raise RunError("Java 17 or newer was not found", hint=HOW_TO_GET_JAVA, code="LL492")
    script = work / "nothing.py"
    script.touch()
    submit = [str(spark / "bin" / "spark-submit"), "--master", "local[1]", "--packages", DELTA_PACKAGE]
    settings = ["--conf", f"spark.jars.ivy={work}", "--conf", "spark.ui.enabled=false"]
    search = f"{Path(sys.executable).parent}{os.pathsep}{environ.get('PATH', '')}"
    done = subprocess.run(
        [*submit, *settings, str(script)],
        env={**environ, "SPARK_HOME": str(spark), "PATH": search},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if not has_jars(work / "jars"):
        raise RunError(f"`{DELTA_PACKAGE}` could not be fetched: {_reason(done.stderr)}", code="LL493")


def _find_spark() -> Path:
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise RunError("pyspark is not installed", hint="pip install 'lakelogic[spark]'", code="LL494")
    return Path(found.origin).parent


def _reason(talk: str) -> str:
    """The line of the resolver's talk that says most."""
    lines = [line.strip() for line in talk.splitlines() if line.strip()]
    telling = [line for line in lines if "not found" in line or "Exception" in line or "refused" in line]
    return (telling or lines or ["the resolver said nothing"])[0][:200]


def _publish(fetched: Path, folder: Path) -> None:
    """Keep the jars that Spark does not bring itself, and show them under their final name in one step."""
    own = {jar.name for jar in (_find_spark() / "jars").glob("*.jar")}
    own_artifacts = {_artifact(name) for name in own}
    for jar in fetched.glob("*.jar"):
        # Ivy writes `organisation_artifact-version.jar`.
        if _artifact(jar.name.partition("_")[2]) in own_artifacts:
            jar.unlink()
    if folder.exists():
        shutil.rmtree(folder)  # jars of an older version: two Deltas on one class path do not work
    fetched.rename(folder)


def _artifact(jar: str) -> str:
    """`avro-1.12.1.jar` -> `avro`: the name up to the hyphen before the first digit of the version."""
    parts = jar.removesuffix(".jar").split("-")
    name = [parts[0]]
    for part in parts[1:]:
        if part[:1].isdigit():
            break
        name.append(part)
    return "-".join(name)
