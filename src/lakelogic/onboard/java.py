"""Finding Java without starting it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

OLDEST_JAVA = 17
HOW_TO_GET_JAVA = (
    "install a Java runtime, version 17 or newer (Debian and Ubuntu: `apt install openjdk-17-jre-headless`; "
    "macOS: `brew install openjdk@17`; Windows: `winget install EclipseAdoptium.Temurin.17.JRE`), "
    "or set JAVA_HOME to the folder of one that is there"
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime; `version` is None where its folder does not say."""

    program: Path
    version: str | None

    @property
    def major(self) -> int | None:
        numbers = re.findall(r"\d+", self.version or "")
        if not numbers:
            return None
        # Before 9 the major number stood second: 1.8.0 is Java 8.
        return int(numbers[1]) if numbers[0] == "1" and len(numbers) > 1 else int(numbers[0])

    @property
    def too_old(self) -> bool:
        return self.major is not None and self.major < OLDEST_JAVA


def find_java(environ: Mapping[str, str]) -> Java | None:
    """The Java that Spark would use: the one of JAVA_HOME, else the first in PATH."""
    home = environ.get("JAVA_HOME")
    if home:
        program = Path(home) / "bin" / "java"
        return Java(program, _read_version(Path(home))) if program.exists() else None
    found = shutil.which("java", path=environ.get("PATH"))
    if found is None:
        return None
    program = Path(found).resolve()
    return Java(program, _read_version(program.parent.parent))


def _read_version(home: Path) -> str | None:
    release = home / "release"
    if not release.is_file():
        return None
    match = re.search(r'^JAVA_VERSION="([^"]+)"', release.read_text(errors="replace"), re.MULTILINE)
    return match.group(1) if match else None
