"""A class-data archive: the JVM maps Spark's classes instead of loading thousands of them at each start."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyspark

_KEPT = 3
_DUMP_SCRIPT = """
import sys
from pathlib import Path
from lakelogic.core.settings import Settings
from lakelogic.engine.spark.session import close_session, open_session
session = open_session(
    Settings(jars=Path(sys.argv[1])),
    master="local[2]",
    conf={"spark.driver.defaultJavaOptions": "-XX:ArchiveClassesAtExit=" + sys.argv[2] + " -Xlog:disable"},
)
folder = Path(sys.argv[3])
rows = session.spark.range(20).selectExpr("id", "CAST(id AS STRING) AS name", "id % 2 AS part")
rows.write.partitionBy("part").parquet(str(folder / "parquet"))
rows.write.format("delta").save(str(folder / "delta"))
session.spark.read.text(str(folder / "parquet")).selectExpr("from_csv(value, 'a STRING')").limit(1).collect()
close_session(session)
"""


def archive_path(folder: Path, jars: Sequence[Path]) -> Path:
    """Where the archive for exactly these jars, this Spark and this Java lives.

    The JVM compares class paths as texts, so an archive serves one installation of Spark, not its twin elsewhere.
    """
    home = Path(pyspark.__file__).parent
    identity = [pyspark.__version__, str(home), _java_identity(), *(f"{jar}:{jar.stat().st_size}" for jar in jars)]
    digest = hashlib.sha256("\n".join(identity).encode()).hexdigest()[:16]
    return folder / f"spark-{digest}.jsa"


def find_archive(folder: Path, jars: Sequence[Path]) -> Path | None:
    path = archive_path(folder, jars)
    return path if path.is_file() else None


def archive_option(path: Path | None) -> list[str]:
    # An archive that does not fit is skipped by the JVM; it must not talk about it on stdout.
    return [f"-XX:SharedArchiveFile={path}", "-Xshare:auto", "-Xlog:disable"] if path else []


def write_archive(folder: Path, scratch: Path) -> Path:
    """Start Spark once and keep its classes; set-up calls this, a run only uses what is there."""
    jars = sorted(folder.glob("*.jar"))
    path = archive_path(folder, jars)
    if path.is_file():
        return path
    partial = path.with_suffix(".part")
    subprocess.run(
        [sys.executable, "-c", _DUMP_SCRIPT, str(folder), str(partial), str(scratch)],
        check=True,
        capture_output=True,
    )
    partial.replace(path)
    _forget_oldest(folder)
    return path


def _forget_oldest(folder: Path) -> None:
    """Each is large, and most are of environments that are gone."""
    archives = sorted(folder.glob("spark-*.jsa"), key=lambda path: path.stat().st_mtime)
    for path in archives[:-_KEPT]:
        path.unlink(missing_ok=True)


def _java_identity() -> str:
    java = shutil.which("java") or ""
    release = Path(java).resolve().parent.parent / "release" if java else None
    if release is None or not release.is_file():
        return java
    found = re.search(r'JAVA_RUNTIME_VERSION="([^"]+)"', release.read_text(errors="replace"))
    return f"{java}:{found.group(1) if found else ''}"
