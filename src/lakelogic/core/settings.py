"""What the environment says: read once, as data, so that nothing below asks for it again."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast, get_args

from lakelogic.core.errors import RunError
from lakelogic.core.secrets import Secret

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]

PREFIX: Final = "LAKELOGIC_"
ENGINES: Final = ("spark", "duckdb", "polars")
# A year and a bit: this month can always be compared with the same one of the year before.
RUN_LOG_DAYS: Final = 400


@dataclass(frozen=True, slots=True)
class Settings:
    """The operator's choices. A field is None where the contract or a default decides."""

    engine: str | None = None
    env: str | None = None  # which entry of `environments` a contract takes
    root: str | None = None  # what relative paths of a contract are relative to; else its folder
    warehouse: str | None = None  # where catalog names without a catalog live; else `lakehouse` beside the contract
    state: str | None = None  # parent of the control tables; else beside the target
    master: str | None = None  # Spark master
    remote: str | None = None  # Spark Connect address
    jars: Path = Path("jars")  # folder of Spark jars
    jars_given: bool = False  # the operator named the folder: never fetch into it
    pii_key: Secret | None = None
    log_level: LogLevel = "INFO"
    run_log_days: int = RUN_LOG_DAYS  # how long `maintain` keeps the rows of the run log; 0: for ever
    max_files_per_batch: int | None = None  # None: all that are new
    duckdb_memory: str | None = None  # None: most of what there is


# Every variable that is read, with what it does: `lakelogic doctor` and the docs print this.
VARIABLES: Final[Mapping[str, str]] = {
    "LAKELOGIC_ENGINE": "engine that runs contracts: spark, duckdb, polars",
    "LAKELOGIC_ENV": "entry of `environments` that contracts take",
    "LAKELOGIC_ROOT": "folder that relative paths of a contract start from (default: the contract's folder)",
    "LAKELOGIC_WAREHOUSE": "folder of catalog names that have no catalog (default: `lakehouse`)",
    "LAKELOGIC_STATE": "folder of journals and run logs (default: beside each target)",
    "LAKELOGIC_MASTER": "Spark master (default: local[*])",
    "LAKELOGIC_REMOTE": "Spark Connect address, sc://host:port",
    "LAKELOGIC_JARS": "folder with the Delta jars for Spark (default: the user's cache)",
    "LAKELOGIC_PII_KEY": "secret that personal data is masked with; never printed",
    "LAKELOGIC_SECRETS_DIR": "folder of secrets, <scope>/<name>, for ${secret:scope/name}",
    "LAKELOGIC_POLICY_PACK_DIR": "folder of policy packs (default: `policy_packs` beside each contract or above it)",
    "LAKELOGIC_LOG_LEVEL": "DEBUG, INFO, WARNING or ERROR",
    "LAKELOGIC_RUN_LOG_DAYS": "how many days `maintain` keeps the rows of the run log (default: 400; 0: for ever)",
    "LAKELOGIC_MAX_FILES_PER_BATCH": "how many new files one batch reads at most (default: all)",
    "LAKELOGIC_DUCKDB_MEMORY": "what DuckDB may hold before it writes to disk, such as 2GB (default: most of it)",
}


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Read the settings from an environment; an empty variable counts as absent."""
    given = {name: value for name, value in environ.items() if name.startswith(PREFIX) and value}
    key = given.get("LAKELOGIC_PII_KEY")
    jars = _path(given, "LAKELOGIC_JARS")
    return Settings(
        engine=_choice(given, "LAKELOGIC_ENGINE", ENGINES),
        env=given.get("LAKELOGIC_ENV"),
        root=_folder(given, "LAKELOGIC_ROOT"),
        warehouse=_folder(given, "LAKELOGIC_WAREHOUSE"),
        state=_folder(given, "LAKELOGIC_STATE"),
        master=given.get("LAKELOGIC_MASTER"),
        remote=given.get("LAKELOGIC_REMOTE"),
        jars=jars or user_cache(environ) / "jars",
        jars_given=jars is not None,
        pii_key=Secret(key) if key else None,
        log_level=_log_level(given),
        run_log_days=_whole_number(given, "LAKELOGIC_RUN_LOG_DAYS", RUN_LOG_DAYS),
        max_files_per_batch=_whole_number(given, "LAKELOGIC_MAX_FILES_PER_BATCH", 0) or None,
        duckdb_memory=_size(given, "LAKELOGIC_DUCKDB_MEMORY"),
    )


def user_cache(environ: Mapping[str, str]) -> Path:
    """The folder where this user's caches of LakeLogic live."""
    if base := environ.get("XDG_CACHE_HOME"):
        return Path(base) / "lakelogic"
    home = home_folder(environ)
    return home / ".cache" / "lakelogic" if home is not None else spare_cache()


def spare_cache() -> Path:
    """Where caches live for a user that has no folder of its own, or one that cannot be written to."""
    return Path(tempfile.gettempdir()) / f"lakelogic-{os.getuid()}"


def home_folder(environ: Mapping[str, str]) -> Path | None:
    """The user's folder; None for a user that the system does not know, as there are in containers."""
    home = environ.get("HOME") or os.path.expanduser("~")
    return Path(home) if home != "~" else None


def _path(given: Mapping[str, str], name: str) -> Path | None:
    return Path(given[name]).expanduser() if name in given else None


def _folder(given: Mapping[str, str], name: str) -> str | None:
    """A folder that may lie on an object store; a Path would take one of its slashes."""
    value = given.get(name)
    return value if value is None or "://" in value else os.path.expanduser(value)


def _choice(given: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str | None:
    value = given.get(name)
    if value is None:
        return None
    for choice in choices:
        if choice.lower() == value.lower():
            return choice
    raise RunError(f"{name} is `{value}`", hint=f"one of: {', '.join(choices)}", code="LL490")


def _log_level(given: Mapping[str, str]) -> LogLevel:
    level = _choice(given, "LAKELOGIC_LOG_LEVEL", get_args(LogLevel))
    return cast(LogLevel, level) if level else "INFO"


def _size(given: Mapping[str, str], name: str) -> str | None:
    text = given.get(name)
    if text is not None and not re.fullmatch(r"[0-9]+(\.[0-9]+)? ?[KMGT]i?B", text.strip(), re.IGNORECASE):
        raise RunError(f"{name} is `{text}`", hint="a number with MB or GB, such as 2GB", code="LL490")
    return text.strip() if text is not None else None


def _whole_number(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default)).strip()
    if not text.isdecimal():
        raise RunError(f"{name} is `{text}`", hint="a whole number, such as 400", code="LL490")
    return int(text)
