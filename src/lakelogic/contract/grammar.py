"""The base of all contract models, and the kinds of value that their keys take."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import core_schema

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


@dataclass(frozen=True, eq=False)
class Checked:
    """How values of a kind are checked, shown in dumps, and described to editors.

    Pydantic's own PlainValidator also builds a schema of the annotated type: a third of the import time.
    """

    check: Callable[[Any], Any]
    json: Mapping[str, Any]
    show: Callable[[Any], Any] | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        shown = core_schema.plain_serializer_function_ser_schema(self.show) if self.show else None
        return core_schema.no_info_plain_validator_function(self.check, serialization=shown)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return dict(self.json)


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


def _check_texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str) and value.strip():
        return (str(value),)
    if not isinstance(value, list | tuple):
        raise mistake("LL113", f"must be a name or a list of names, not {describe_type(value)}")
    for index, item in enumerate(value):
        if not isinstance(item, str) or not item.strip():
            hint = 'put it in quotes: "..."' if isinstance(item, int | float) else None
            what = describe_type(item) if item != "" else "an empty text"
            raise mistake("LL113", f"must be a list of names, and this item is {what}", hint, key=index)
    return tuple(value)


def _check_some_texts(value: object) -> tuple[str, ...]:
    texts = _check_texts(value)
    if not texts:
        raise mistake("LL114", "must not be empty", "name at least one")
    return texts


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
_ONE_VALUE = ["string", "number", "boolean"]
_DURATION = r"^\s*(\d+\s*(ms|s|m|h|d|w)\s*)+$"

Text = Annotated[str, Checked(_check_text, _TEXT)]
Number = Annotated[int | float, Checked(_check_number, {"type": "number"})]
Count = Annotated[int, Checked(_check_count, {"type": "integer", "minimum": 0})]
Ratio = Annotated[float, Checked(_check_ratio, {"type": "number", "minimum": 0, "maximum": 1})]
Flag = Annotated[bool, Checked(_check_flag, {"type": "boolean"})]
Scalar = Annotated[str | int | float | bool | None, Checked(_check_scalar, {"type": [*_ONE_VALUE, "null"]})]
# A limit of a range: a number, or text for dates and timestamps.
Bound = Annotated[int | float | str, Checked(_check_bound, {"type": ["number", "string"]})]
# Settings go to libraries as they are, and are the only place where a secret may stand.
Setting = Annotated[str | int | float | bool | Secret, Checked(_check_setting, {"type": _ONE_VALUE}, _show)]
# Properties end up in a table, where everyone can read them: no secrets.
Property = Annotated[str | int | float | bool, Checked(_check_property, {"type": _ONE_VALUE})]
Duration = Annotated[timedelta, Checked(_check_duration, {"type": "string", "pattern": _DURATION})]
Version = Annotated[str, Checked(_check_version, {"type": "string", "pattern": r"^\d+\.\d+\.\d+"})]
# One name or a list of names.
Texts = Annotated[tuple[str, ...], Checked(_check_texts, {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]})]
SomeTexts = Annotated[
    tuple[str, ...],
    Checked(_check_some_texts, {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}),
]
# Keys and values of the author's choice.
FreeForm = Annotated[dict[str, Any], Checked(_check_free_form, {"type": "object"}, _show)]
