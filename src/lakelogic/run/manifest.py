"""The manifest: all that the commits of a batch need, so that they can be done without computing anything again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast, get_args

from sqlglot import exp

from lakelogic.core.events import Event
from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import Column
from lakelogic.plan.writes import Write
from lakelogic.record.ledger import Ledger
from lakelogic.record.manifest_json import decode_files, decode_ledger, encode_files, encode_ledger
from lakelogic.record.run_log import RuleRecord
from lakelogic.table.protocol import TableShape


@dataclass(frozen=True, slots=True)
class Manifest:
    """Files of both tables with their shapes, and the numbers of the run."""

    write: Write
    target_files: tuple[StagedFile, ...]
    target: TableShape
    quarantine_files: tuple[StagedFile, ...]
    quarantine: TableShape
    ledger: Ledger
    rules: tuple[RuleRecord, ...] = ()
    warnings: tuple[str, ...] = ()
    personal: tuple[str, ...] = ()  # encrypted columns of the quarantine
    reason: str | None = None
    events: tuple[Event, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


def encode_manifest(manifest: Manifest) -> dict[str, Any]:
    return {
        "write": {"kind": type(manifest.write).__name__, **asdict(manifest.write)},
        "target_files": encode_files(manifest.target_files),
        "target": _encode_shape(manifest.target),
        "quarantine_files": encode_files(manifest.quarantine_files),
        "quarantine": _encode_shape(manifest.quarantine),
        "ledger": encode_ledger(manifest.ledger),
        "rules": [asdict(rule) for rule in manifest.rules],
        "warnings": list(manifest.warnings),
        "personal": list(manifest.personal),
        "reason": manifest.reason,
        "events": [asdict(event) for event in manifest.events],
        "extra": dict(manifest.extra),
    }


def decode_manifest(node: Mapping[str, Any]) -> Manifest:
    return Manifest(
        write=_decode_write(node["write"]),
        target_files=decode_files(node["target_files"]),
        target=_decode_shape(node["target"]),
        quarantine_files=decode_files(node["quarantine_files"]),
        quarantine=_decode_shape(node["quarantine"]),
        ledger=decode_ledger(node["ledger"]),
        rules=tuple(RuleRecord(**rule) for rule in node["rules"]),
        warnings=tuple(node["warnings"]),
        personal=tuple(node["personal"]),
        reason=node["reason"],
        # Manifests of earlier versions have none.
        events=tuple(Event(**event) for event in node.get("events", ())),
        extra=node["extra"],
    )


def _decode_write(node: Mapping[str, Any]) -> Write:
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in node.items()}
    kinds = {kind.__name__: kind for kind in get_args(Write)}
    return cast(Write, kinds[fields.pop("kind")](**fields))


def _encode_shape(shape: TableShape) -> dict[str, Any]:
    return {
        "columns": [
            {
                "name": column.name,
                "type": column.type.sql("databricks"),
                "nullable": column.nullable,
                "comment": column.comment,
                "masking": column.masking,
            }
            for column in shape.columns
        ],
        "partition_by": list(shape.partition_by),
        "properties": dict(shape.properties),
        "description": shape.description,
    }


def _decode_shape(node: Mapping[str, Any]) -> TableShape:
    columns = tuple(
        Column(
            c["name"], exp.DataType.build(c["type"], dialect="databricks"), c["nullable"], c["comment"], c["masking"]
        )
        for c in node["columns"]
    )
    return TableShape(columns, tuple(node["partition_by"]), node["properties"], node["description"])
