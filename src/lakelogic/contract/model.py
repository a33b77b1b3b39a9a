"""`model`: the columns that rows must have, with their types and limits."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, model_validator

from lakelogic.contract.field_types import FieldTypeError, parse_field_type
from lakelogic.contract.grammar import (
    Bound,
    Checked,
    ContractModel,
    Count,
    Flag,
    Scalar,
    Text,
    Texts,
    describe_type,
)
from lakelogic.contract.mistakes import mistake

MaskingStrategy = Literal["hash", "encrypt", "encrypt_deterministic", "redact", "partial", "tokenize", "nullify"]


def _check_field_type(value: object) -> str:
    if not isinstance(value, str):
        raise mistake("LL113", f"must be a type, not {describe_type(value)}")
    try:
        return parse_field_type(value)
    except FieldTypeError as error:
        raise mistake("LL117", str(error), error.hint) from error


FieldType = Annotated[str, Checked(_check_field_type, {"type": "string"})]


class Masking(ContractModel):
    """How personal data is made unreadable; `keep` and `side` belong to `partial`."""

    strategy: MaskingStrategy
    keep: Count = 4
    side: Literal["right", "left"] = "right"


class ForeignKey(ContractModel):
    """The column of a link in which a value must stand."""

    reference: Text
    key: Text


def _masking_from_word(value: object) -> object:
    return {"strategy": value} if isinstance(value, str) else value


class ModelField(ContractModel):
    """A declared column."""

    name: Text
    type: FieldType = "string"
    required: Flag = False
    primary_key: Flag = False
    description: Text | None = None
    default: Scalar = None
    accepted_values: tuple[Scalar, ...] | None = None
    min: Bound | None = None
    max: Bound | None = None
    pattern: Text | None = None
    min_length: Count | None = None
    max_length: Count | None = None
    unique: Flag = False
    foreign_key: ForeignKey | None = None
    format: Text | None = None
    pii: Flag = False
    masking: Annotated[Masking, BeforeValidator(_masking_from_word)] | None = None
    aliases: Texts = ()

    @model_validator(mode="before")
    @classmethod
    def _from_aliases(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        field = dict(value)
        for alias, key in (("allowed_values", "accepted_values"), ("nullable", "required")):
            if alias not in field:
                continue
            if key in field:
                raise mistake("LL118", f"`{alias}` says the same as `{key}`", "keep one of them", key=alias)
            given = field.pop(alias)
            if key == "required" and not isinstance(given, bool):
                raise mistake("LL113", f"must be true or false, not {describe_type(given)}", key=alias)
            field[key] = given if key != "required" else not given
        return field


class Model(ContractModel):
    """The declared columns, in order."""

    fields: tuple[ModelField, ...] = ()
    primary_key: Texts = ()

    def field(self, name: str) -> ModelField | None:
        return next((field for field in self.fields if field.name == name), None)
