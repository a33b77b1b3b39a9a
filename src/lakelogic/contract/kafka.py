"""`source.kafka`: a topic, where its first reading starts, and how its values are written."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import model_validator

from lakelogic.contract.grammar import Checked, ContractModel, Setting, Text, describe_type
from lakelogic.contract.mistakes import mistake

EARLIEST, LATEST = -2, -1  # as Kafka and Spark write them in place of an offset
_HINT = """write `earliest`, `latest`, or an offset for each partition: '{"0": 1200, "1": -2}' (-2 is the earliest)"""


def _check_offsets(value: object) -> str | dict[int, int]:
    if isinstance(value, str) and value in ("earliest", "latest"):
        return str(value)
    offsets = _parse(value)
    if not offsets:
        raise mistake("LL113", "must name partitions, and names none", _HINT)
    for partition, offset in offsets.items():
        if not str(partition).isdecimal():
            raise mistake("LL113", f"must name partitions by number, not `{partition}`", _HINT)
        if not isinstance(offset, int) or isinstance(offset, bool) or offset < EARLIEST:
            raise mistake("LL113", f"must have an offset for partition {partition}", _HINT)
    return {int(partition): int(offset) for partition, offset in offsets.items()}


def _parse(value: object) -> Mapping[Any, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise mistake("LL112", "must be a place to start from", _HINT) from error
    if not isinstance(value, Mapping):
        raise mistake("LL113", f"must be text or a mapping, not {describe_type(value)}", _HINT)
    return value


StartingOffsets = Annotated[
    str | dict[int, int],
    Checked(_check_offsets, {"anyOf": [{"type": "string", "minLength": 1}, {"type": "object"}]}),
]


class Kafka(ContractModel):
    """A topic and how its values are written."""

    bootstrap_servers: Setting
    topic: Text
    starting_offsets: StartingOffsets = "earliest"
    schema_registry: Setting | None = None
    value_format: Literal["json", "avro", "protobuf"] = "json"

    @model_validator(mode="before")
    @classmethod
    def _unwrap_offsets(cls, value: Any) -> Any:
        """Spark's form names the topic around the partitions; both forms mean the same."""
        if not isinstance(value, Mapping):
            return value
        block = dict(value)
        offsets = block.get("starting_offsets")
        if isinstance(offsets, str) and offsets.lstrip().startswith("{"):
            try:
                offsets = json.loads(offsets)
            except ValueError:
                return value  # the check of the key says what is wrong with it
        if isinstance(offsets, Mapping) and list(offsets) == [block.get("topic")]:
            block["starting_offsets"] = offsets[block["topic"]]
        return block
