"""`lakelogic setup`: fetch once what Spark needs, so that runs need no network and start quickly."""

from __future__ import annotations

import os
import subprocess
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic.cli.options import Debug, Quiet
from lakelogic.cli.render import say
from lakelogic.core.errors import LakeLogicError

if TYPE_CHECKING:
    from lakelogic.core.settings import Settings

EXIT_NOT_READY = 4


class Extra(StrEnum):
    """Packages that only some sources and targets need."""

    KAFKA = "kafka"
    POSTGRESQL = "postgresql"
    MYSQL = "mysql"
    SQLITE = "sqlite"
    MSSQL = "mssql"
    S3 = "s3"


With = Annotated[list[Extra] | None, typer.Option("--with", help="Also fetch what this kind of place needs.")]


def setup_command(with_: With = None, quiet: Quiet = False, debug: Debug = False) -> None:
    """Fetch the Delta jars for Spark into the user's cache, once. Quick when they are there.

    \b
    Examples:
      lakelogic setup
      lakelogic setup --with kafka
      lakelogic setup --with postgresql --with mysql
      lakelogic setup --with s3
      DEFAULT_ARTIFACT_REPOSITORY=https://maven.example/repo lakelogic setup
    """
    from lakelogic.core.settings import read_settings
    from lakelogic.onboard.fetch_jars import DELTA, OPTIONAL, WAYS_OUT, fetch_jars, has_jars

    settings = read_settings(os.environ)
    extras = [OPTIONAL[extra.value] for extra in with_ or ()]
    missing = [package.coordinates for package in (DELTA, *extras) if not has_jars(settings.jars, package)]
    if not quiet and missing and not settings.jars_given:
        say(f"fetching {', '.join(missing)} (once, about half a minute each) ...")
    try:
        fetch_jars(settings, os.environ, extras)
    except (LakeLogicError, OSError, subprocess.TimeoutExpired) as error:
        say(f"Jars that Spark needs are not there.\n{error}\n{WAYS_OUT}")
        raise typer.Exit(EXIT_NOT_READY) from error
    _archive_classes(settings, quiet=quiet)


def _archive_classes(settings: Settings, *, quiet: bool) -> None:
    """Have Spark start faster from now on; a machine where that does not work only starts slower."""
    from lakelogic.engine.spark.archive import find_archive, write_archive

    if find_archive(settings.jars, sorted(settings.jars.glob("*.jar"))) is not None:
        return
    if not os.access(settings.jars, os.W_OK):
        return
    if not quiet:
        say("preparing Spark for a quick start (once, about half a minute) ...")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            write_archive(settings.jars, Path(scratch))
    except (OSError, subprocess.SubprocessError) as error:
        say(f"Spark will start without its class archive ({type(error).__name__}); that only costs seconds")
