"""`source`: where rows come from and which of them a run reads."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from lakelogic.contract.database import Database
from lakelogic.contract.grammar import ContractModel, Duration, Flag, Setting, Text, Texts
from lakelogic.contract.kafka import Kafka
from lakelogic.core.database_url import is_database_url
from lakelogic.core.secrets import Secret

SourceType = Literal["file", "table", "database", "kafka", "stream", "api"]
SourceFormat = Literal["csv", "json", "jsonl", "parquet", "delta", "iceberg", "avro", "orc", "xml", "text"]
TEXT_FORMATS = frozenset({"csv", "json", "jsonl", "xml", "text"})

_EXTENSIONS = {
    "csv": "csv", "tsv": "csv", "json": "json", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet",
    "avro": "avro", "orc": "orc", "xml": "xml", "txt": "text", "log": "text",
}  # fmt: skip
_CATALOG_NAME = re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*){1,2}")


class Cdc(ContractModel):
    """How change events are written and what a delete does."""

    format: Literal["debezium", "flat"] = "debezium"
    operation_field: Text = "op"
    order_by: Texts = ()
    deletes: Literal["soft", "hard", "ignore"] = "soft"


class Source(ContractModel):
    """Where rows come from; `type` and `format` are read off the path where it tells them."""

    type: SourceType = "file"
    path: Text | None = None
    pattern: Text | None = None
    format: SourceFormat | None = None
    options: dict[str, Setting] = Field(default_factory=dict)
    load_mode: Literal["full", "incremental", "cdc"] = "full"
    watermark_strategy: Literal["pipeline_log", "file_mtime", "max_target", "delta_version"] = "pipeline_log"
    watermark_field: Text | None = None
    lookback: Duration | None = None
    settle: Duration | None = None
    success_marker: Text | None = None
    on_empty: Literal["skip", "fail"] = "skip"
    malformed: Literal["quarantine", "fail"] = "quarantine"
    columns: Literal["declared", "all"] = "declared"
    database: Database | None = None
    kafka: Kafka | None = None
    cdc: Cdc | None = None
    raw: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _read_off_path(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        block = dict(value)
        if block.get("type") == "landing":
            block["type"] = "file"
        _name_database(block)
        path = block.get("path")
        if isinstance(path, str):
            block.setdefault("type", source_type_of(path))
            found = source_format_of(path, block.get("pattern"), block["type"])
            if found and block.get("format") is None:
                block["format"] = found
        elif isinstance(block.get("kafka"), Mapping):
            block.setdefault("type", "kafka")
        if block.get("type") == "kafka":
            # A topic has positions of its own; to read all of it on every run is what must be asked for.
            block.setdefault("load_mode", "incremental")
        if block.get("raw") is True:
            # An archive takes each record once.
            block.setdefault("load_mode", "incremental")
        return block


def _name_database(block: dict[str, Any]) -> None:
    """A path that is the address of a database is its `url`; a path with a secret in it can be nothing else."""
    path, database = block.get("path"), block.get("database") or {}
    addressed = isinstance(path, Secret) or (isinstance(path, str) and is_database_url(path))
    if addressed and isinstance(database, Mapping) and database.get("url") is None:
        block["database"] = {**database, "url": block.pop("path")}
    if addressed or (database and path is None):
        block.setdefault("type", "database")


def source_type_of(path: str) -> SourceType:
    """Tell a table, a database and files apart by the look of a path."""
    if is_database_url(path):
        return "database"
    if path.startswith("kafka://"):
        return "kafka"
    if path.startswith(("http://", "https://")):
        return "api"
    if path.startswith("table:") or is_catalog_name(path):
        return "table"
    return "file"


def is_catalog_name(path: str) -> bool:
    """Whether this is `schema.table` or `catalog.schema.table`, and not a file such as `customers.csv`."""
    # Any part, not only the last: `customers.csv.gz` is a file too.
    return bool(_CATALOG_NAME.fullmatch(path)) and not _EXTENSIONS.keys() & set(path.lower().split(".")[1:])


def source_format_of(path: str, pattern: object, source_type: object) -> str | None:
    """Read the format off the file's extension; None where only a look at the files can tell."""
    if source_type == "table":
        return "delta"
    if source_type != "file":
        return None
    for text in (pattern, path):
        if isinstance(text, str):
            name = re.sub(r"\.(gz|bz2|zst|zip|snappy|lz4)$", "", text.rstrip("/").lower())
            found = _EXTENSIONS.get(name.rsplit(".", 1)[-1]) if "." in name else None
            if found:
                return found
    return None
