"""Fetch the jars that Spark needs for Delta, once, with Spark's own resolver.

The resolver knows where artifacts live and honours the usual mirror variable, so no address stands here.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lakelogic.core.errors import RunError
from lakelogic.core.settings import Settings
from lakelogic.onboard.java import HOW_TO_GET_JAVA, find_java

TIMEOUT_S = 600


@dataclass(frozen=True, slots=True)
class Package:
    """Jars that belong together, fetched with all that they depend on."""

    name: str  # what `lakelogic setup --with` calls it
    coordinates: str
    # What to take for a dependency, where the repository has not the version that the package asks for.
    substitute: str | None = None
    beside: tuple[str, ...] = ()  # fetched with it
    without: str | None = None  # a dependency that is left out

    @property
    def marker(self) -> str:
        """The jar that is only there when the package is."""
        _, artifact, version = self.coordinates.split(":")
        return f"{artifact}-{version}.jar"


# Delta releases are built for one minor version of Spark each (docs/decisions/0005-versions.md).
DELTA = Package("delta", "io.delta:delta-spark_4.2_2.13:4.4.0")
# docs/decisions/0016-kafka-offsets.md says why there is a substitute.
KAFKA = Package(
    "kafka",
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    substitute="org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",
)
DRIVERS = (
    Package("postgresql", "org.postgresql:postgresql:42.7.14"),
    Package("mysql", "org.mariadb.jdbc:mariadb-java-client:3.5.11"),
    Package("sqlite", "org.xerial:sqlite-jdbc:3.53.4.0"),
    Package("mssql", "com.microsoft.sqlserver:mssql-jdbc:13.6.1.jre11"),
)
# The parts of Amazon's library that Hadoop uses, instead of the bundle of all of it: 13 MB for some hundreds.
_AMAZON = ("s3", "s3-transfer-manager", "sts", "apache-client", "netty-nio-client")
S3 = Package(
    "s3",
    "org.apache.hadoop:hadoop-aws:3.5.0",
    beside=tuple(f"software.amazon.awssdk:{part}:2.35.4" for part in _AMAZON),
    without="software.amazon.awssdk:bundle",
)
OPTIONAL: Mapping[str, Package] = {package.name: package for package in (KAFKA, *DRIVERS, S3)}

WAYS_OUT = f"""\
Everything that needs no Spark works without them (`lakelogic validate`, `lakelogic run --engine duckdb`).
Ways to get them:
  * a mirror:  set DEFAULT_ARTIFACT_REPOSITORY to the address of a Maven repository that you can reach,
               then run `lakelogic setup` again
  * a folder:  copy the jars of {DELTA.coordinates} and what it depends on to a folder
               and set LAKELOGIC_JARS to that folder"""


def has_jars(folder: Path, package: Package = DELTA) -> bool:
    """Whether a folder holds the jars of a package; Ivy puts the organisation before the name."""
    return any(jar.name.endswith(package.marker) for jar in folder.glob("*.jar"))


def fetch_jars(settings: Settings, environ: Mapping[str, str], extras: Sequence[Package] = ()) -> Path:
    """Make sure that the jars of Delta and of the extras are there, and say where."""
    missing = [package for package in (DELTA, *extras) if not has_jars(settings.jars, package)]
    if not missing:
        return settings.jars
    if settings.jars_given:
        raise RunError(
            f"LAKELOGIC_JARS names `{settings.jars}`, but `{missing[0].marker}` is not there",
            hint="copy the jars there, or unset LAKELOGIC_JARS to have them fetched",
            code="LL491",
        )
    if missing[0] is DELTA:
        # The folder is about to be made anew: what an older version had in it is fetched with it.
        missing = [DELTA, *(package for package in OPTIONAL.values() if package in extras or _had(settings, package))]
    settings.jars.parent.mkdir(parents=True, exist_ok=True)
    # Beside the final folder, so that the renames at the end are steps on one file system.
    with tempfile.TemporaryDirectory(dir=settings.jars.parent, prefix="fetching-") as work:
        for package in missing:
            _fetch(package, Path(work), environ)
        _publish(Path(work) / "jars", settings.jars)
    return settings.jars


def _had(settings: Settings, package: Package) -> bool:
    """Whether the folder holds this package in whatever version."""
    artifact = package.coordinates.split(":")[1]
    return any(settings.jars.glob(f"*{artifact}-*.jar"))


def _fetch(package: Package, work: Path, environ: Mapping[str, str]) -> None:
    wanted = ",".join((package.coordinates, *package.beside))
    left_out = {"without": package.without} if package.without else {}
    talk = _resolve(wanted, work, environ, **left_out)
    if has_jars(work / "jars", package):
        return
    if package.substitute is not None and _lacks(talk, package.substitute):
        _resolve(package.coordinates, work, environ, without=package.substitute.rpartition(":")[0])
        talk = _fetch_alone(package.substitute, work, environ)
    if not has_jars(work / "jars", package):
        raise RunError(f"`{package.coordinates}` could not be fetched: {_reason(talk)}", code="LL493")


def _fetch_alone(coordinates: str, work: Path, environ: Mapping[str, str]) -> str:
    """One jar without what it depends on: the package has that already, in the versions that it asks for."""
    apart = work / "apart"
    apart.mkdir()
    talk = _resolve(coordinates, apart, environ)
    for jar in apart.glob(f"jars/*{coordinates.split(':')[1]}-*.jar"):
        jar.replace(work / "jars" / jar.name)
    return talk


def _lacks(talk: str, coordinates: str) -> bool:
    artifact = coordinates.split(":")[1]
    return any(artifact in line and "not found" in line for line in talk.splitlines())


def _resolve(coordinates: str, work: Path, environ: Mapping[str, str], *, without: str | None = None) -> str:
    """Have Spark's resolver put a package and what it depends on into work/jars; what it said comes back."""
    spark = _find_spark()
    java = find_java(environ)
    if java is None or java.too_old:
        raise RunError("Java 17 or newer was not found", hint=HOW_TO_GET_JAVA, code="LL492")
    script = work / "nothing.py"
    script.touch()
    submit = [str(spark / "bin" / "spark-submit"), "--master", "local[1]", "--packages", coordinates]
    settings = ["--conf", f"spark.jars.ivy={work}", "--conf", "spark.ui.enabled=false"]
    if without is not None:
        settings += ["--exclude-packages", without]
    search = f"{Path(sys.executable).parent}{os.pathsep}{environ.get('PATH', '')}"
    done = subprocess.run(
        [*submit, *settings, str(script)],
        env={**environ, "SPARK_HOME": str(spark), "PATH": search},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return done.stderr


def _find_spark() -> Path:
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise RunError("pyspark is not installed", hint="pip install 'lakelogic[spark]'", code="LL494")
    return Path(found.origin).parent


def _reason(talk: str) -> str:
    """What the resolver's talk says most about: what is nowhere, and a repository that does not answer."""
    lines = [line.strip(" :\t") for line in talk.splitlines() if line.strip(" :\t")]
    nowhere = [line for line in lines if re.fullmatch(r"\S+#\S+;\S+: not found", line)]
    telling = [line for line in lines if "not found" in line or "Exception" in line or "refused" in line]
    others = [line for line in telling if line not in nowhere]
    return "; ".join([*nowhere[:1], *others[:1]] or lines[:1] or ["the resolver said nothing"])[:300]


def _publish(fetched: Path, folder: Path) -> None:
    """Keep the jars that Spark does not bring itself. A new folder shows in one step, additions one by one."""
    own = {jar.name for jar in (_find_spark() / "jars").glob("*.jar")}
    own_artifacts = {_artifact(name) for name in own}
    for jar in fetched.glob("*.jar"):
        # Ivy writes `organisation_artifact-version.jar`.
        if _artifact(jar.name.partition("_")[2]) in own_artifacts:
            jar.unlink()
    if has_jars(folder):
        # Sessions that run hold the jars that are there; the marker comes last, so that half a package is none.
        markers = tuple(package.marker for package in OPTIONAL.values())
        for jar in sorted(fetched.glob("*.jar"), key=lambda jar: jar.name.endswith(markers)):
            jar.replace(folder / jar.name)
        return
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
