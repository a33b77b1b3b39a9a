"""What the grammar knows and this version does not carry out yet. Take a line away when it is built."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import Problem


@dataclass(frozen=True, slots=True)
class Refusal:
    """A key that is refused: with these values, or else with any value that is not empty."""

    path: str  # `*` stands for every item of a list
    values: tuple[object, ...] = ()
    instead: str = "take it away"
    built_for: tuple[str, ...] = ()  # strategies that carry it out


# Looked up and tried out in November 2026; see docs/decisions/0005-versions.md.
_ICEBERG = "Iceberg is built for Spark 4.0 (up to 1.11.0) and 4.1 (up to 1.12.0), and neither runs on Spark 4.2"
_UNSUPPORTED = (
    Refusal("source.type", ("stream", "api"), "use `file`, `table`, `database` or `kafka`"),
    Refusal("source.format", ("iceberg",), f"use `delta` or `parquet`; {_ICEBERG}"),
    Refusal("source.kafka.schema_registry"),
    Refusal("source.kafka.value_format", ("avro", "protobuf"), "use `json`"),
    Refusal("links.*.format", ("iceberg",), f"use `delta` or `parquet`; {_ICEBERG}"),
    Refusal("external_logic"),
    Refusal("materialization.format", ("iceberg",), f"use `delta`; {_ICEBERG}"),
    Refusal("materialization.unknown_member", built_for=("scd2",)),
    Refusal("notifications"),
    Refusal("tests"),
)


def find_unsupported(contract: Contract) -> Iterator[Problem]:
    """Every key of the contract that would have to be ignored, and is refused instead."""
    strategy = contract.materialization.strategy if contract.materialization else ""
    for refusal in _UNSUPPORTED:
        if strategy in refusal.built_for:
            continue
        for path, value in _values(contract, refusal.path.split("."), ""):
            refused = value in refusal.values if refusal.values else bool(value)
            if refused:
                what = f"`{path}: {value}`" if refusal.values else f"`{path}`"
                yield Problem("LL190", f"{what} is not supported yet", contract.at(path), refusal.instead)


def _values(node: Any, parts: list[str], path: str) -> Iterator[tuple[str, Any]]:
    if not parts:
        yield path, node
        return
    part, *rest = parts
    if part == "*":
        for index, item in enumerate(node):
            yield from _values(item, rest, f"{path}.{index}")
        return
    value = node.get(part) if isinstance(node, dict) else getattr(node, part)
    if value is not None:
        yield from _values(value, rest, f"{path}.{part}" if path else part)
