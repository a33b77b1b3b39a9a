"""The base of all contract models, and the kinds of value that their keys take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)

from lakelogic.contract.duration import parse_duration
from lakelogic.contract.mistakes import mistake
from lakelogic.core.secrets import Secret


class ContractModel(BaseModel):
    """A block of a contract: frozen, and without room for keys that nobody knows."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        # Only Contract is ever validated on its own; building a validator per block would double import time.
        defer_build=True,
        # A value may come from the environment; it must not reach a message.
        hide_input_in_errors=True,
    )


def block() -> Any:
    """The default of a block that is there even where nobody wrote it."""
    # Not an instance: that would build the block's own validator at import.
    return Field(default_factory=dict, validate_default=True)


def describe_type(value: object) -> str:
    """Name a YAML value's kind in the words an author uses; never the value itself."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return type(value).__name__


def _check_text(value: object) -> str:
    if isinstance(value, str):
        if not value.strip():
            raise mistake("LL113", "must be text, and is empty")
        return str(value)
    hint = 'put it in quotes: "..."' if isinstance(value, int | float) else None
    raise mistake("LL113", f"must be text, not {describe_type(value)}", hint)


def _check_number(value: object) -> int | float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise mistake("LL113", f"must be a number, not {describe_type(value)}")


def _check_count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    got = "another number" if isinstance(value, float | int) else describe_type(value)
    raise mistake("LL113", f"must be a whole number, 0 or more, not {got}")


def _check_ratio(value: object) -> float:
    number = _check_number(value)
    if 0 <= number <= 1:
        return float(number)
    raise mistake("LL114", "must be a ratio from 0 to 1", "20 % is written 0.2")


def _check_flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    hint = None
    if isinstance(value, str) and value.lower() in {"yes", "no", "on", "off", "y", "n", "true", "false"}:
        hint = "write `true` or `false`, without quotes; `yes`, `no`, `on` and `off` are text in YAML 1.2"
    raise mistake("LL113", f"must be true or false, not {describe_type(value)}", hint)


def _check_scalar(value: object) -> str | int | float | bool | None:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise mistake("LL113", f"must be one value, not {describe_type(value)}")


def _check_bound(value: object) -> int | float | str:
    if isinstance(value, int | float | str) and not isinstance(value, bool) and value != "":
        return value
    raise mistake("LL113", f"must be a number or a date in quotes, not {describe_type(value)}")


def _check_setting(value: object) -> str | int | float | bool | Secret:
    if isinstance(value, str | int | float | bool | Secret):
        return value
    raise mistake("LL113", f"must be one value, not {describe_type(value)}")


def _check_property(value: object) -> str | int | float | bool:
    if isinstance(value, str | int | float | bool):
        return value
    raise mistake("LL113", f"must be one value, not {describe_type(value)}")


def _check_duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    try:
        return parse_duration(_check_text(value))
    except ValueError as error:
        hint = "write a number and a unit: `30m`, `6h`, `3d`; units are ms, s, m, h, d, w"
        raise mistake("LL115", f"must be a duration, not `{value}`", hint) from error


def _one_or_many(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _check_free_form(value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    raise mistake("LL113", f"must be a mapping, not {describe_type(value)}")


def _show(value: object) -> object:
    """What a dump shows of a value: secrets as stars."""
    match value:
        case Secret():
            return str(value)
        case Mapping():
            return {key: _show(item) for key, item in value.items()}
        case tuple():
            return tuple(_show(item) for item in value)
        case _:
            return value


def _plain(value: object) -> object:
    match value:
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return tuple(_plain(item) for item in value)
        case _:
            return value


_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def _check_version(value: object) -> str:
    text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    if isinstance(value, str) and _VERSION.fullmatch(value):
        return str(value)
    parts = (text.lstrip("vV") or "1").split(".")[:3]
    whole = parts if all(part.isdigit() for part in parts) else ["1"]
    example = ".".join(str(int(part)) for part in [*whole, "0", "0"][:3])
    raise mistake("LL116", "must be a version of three numbers", f'write it in quotes: "{example}"')


_TEXT = {"type": "string", "minLength": 1}
_NUMBER = {"type": "number"}
_SCALAR = {"type": ["string", "number", "boolean", "null"]}
_TEXTS = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}

Text = Annotated[str, PlainValidator(_check_text), WithJsonSchema(_TEXT)]
Number = Annotated[int | float, PlainValidator(_check_number), WithJsonSchema(_NUMBER)]
Count = Annotated[int, PlainValidator(_check_count), WithJsonSchema({"type": "integer", "minimum": 0})]
Ratio = Annotated[
    float, PlainValidator(_check_ratio), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})
]
Flag = Annotated[bool, PlainValidator(_check_flag), WithJsonSchema({"type": "boolean"})]
Scalar = Annotated[str | int | float | bool | None, PlainValidator(_check_scalar), WithJsonSchema(_SCALAR)]
# A limit of a range: a number, or text for dates and timestamps.
Bound = Annotated[
    int | float | str, PlainValidator(_check_bound), WithJsonSchema({"type": ["number", "string"]})
]
# Settings go to libraries as they are, and are the only place where a secret may stand.
Setting = Annotated[
    str | int | float | bool | Secret,
    PlainValidator(_check_setting),
    PlainSerializer(_show),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
Duration = Annotated[
    timedelta,
    PlainValidator(_check_duration),
    WithJsonSchema({"type": "string", "pattern": r"^\s*(\d+\s*(ms|s|m|h|d|w)\s*)+$"}),
]
Version = Annotated[
    str, PlainValidator(_check_version), WithJsonSchema({"type": "string", "pattern": r"^\d+\.\d+\.\d+"})
]
# Properties end up in a table, where everyone can read them: no secrets.
Property = Annotated[
    str | int | float | bool,
    PlainValidator(_check_property),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
# One name or a list of names.
Texts = Annotated[tuple[Text, ...], BeforeValidator(_one_or_many), WithJsonSchema(_TEXTS)]
# Keys and values of the author's choice.
FreeForm = Annotated[
    dict[str, Any],
    PlainValidator(_check_free_form),
    PlainSerializer(_show),
    WithJsonSchema({"type": "object"}),
]
