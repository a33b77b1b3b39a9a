"""Object stores for Spark: our credentials as settings of the session, which hands them to Hadoop.

Session settings show in the UI, in the event log and in `SET`; Spark blackens those whose names its redaction pattern
knows. A session of ours has a pattern that knows all names that we set; of any other it is asked first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from lakelogic.core.errors import RunError
from lakelogic.storage.address import Cloud, is_remote, parse_address
from lakelogic.storage.resolver import hadoop_options

# Spark's own pattern, and the names that Azure and Google have for a key.
REDACTION = r"(?i)secret|password|passwd|token|access[.]?key|account[.]?key|sas|keyfile|credential"
_SPARKS_OWN = r"(?i)secret|password|token|access[.]?key"
_SECRET_NAME = re.compile(REDACTION)
# Jars that a local session needs, by a part of their names.
_JARS: Mapping[Cloud, str] = {"s3": "hadoop-aws", "gs": "hadoop-gcp", "azure": "hadoop-azure"}


def let_in(spark: SparkSession, paths: Sequence[str], *, ours: bool) -> None:
    """Let a session enter the stores of these paths; one that is not `ours` gets only what the contract names."""
    settings = hadoop_options(paths, explicit_only=not ours)
    if not ours:
        _refuse_visible(spark, settings)
    for name, value in settings.items():
        if spark.conf.get(name, None) != value:
            spark.conf.set(name, value)


def require_jars(paths: Sequence[str], jars: Sequence[Path]) -> None:
    """Refuse in words what Hadoop would refuse with a missing class."""
    for cloud in sorted({parse_address(path).cloud for path in paths if is_remote(path)}):
        if any(_JARS[cloud] in jar.name for jar in jars):
            continue
        hint = (
            "run `lakelogic setup --with s3`" if cloud == "s3" else f"add {_JARS[cloud]} and what it needs to the jars"
        )
        raise RunError(f"Spark has no jars for {cloud} here", code="LL416", hint=hint)


def _refuse_visible(spark: SparkSession, settings: Mapping[str, str]) -> None:
    pattern = re.compile(spark.conf.get("spark.redaction.regex", _SPARKS_OWN) or _SPARKS_OWN)
    open_names = [name for name in settings if _SECRET_NAME.search(name) and not pattern.search(name)]
    if open_names:
        raise RunError(
            f"`{open_names[0]}` would show in the UI of this Spark session",
            code="LL415",
            hint=f"start Spark with spark.redaction.regex={REDACTION}",
        )
