"""`schema_policy`: what happens when the source's columns are not the declared ones."""

from typing import Any, Literal

from pydantic import model_validator

from lakelogic.contract.grammar import ContractModel
from lakelogic.contract.mistakes import mistake, suggest

# One word says both. `quarantine` guards rows, not the table: declared columns may still be added.
ONE_WORD = {
    "allow": {"evolution": "allow", "unknown_fields": "allow"},
    "strict": {"evolution": "strict", "unknown_fields": "fail"},
    "quarantine": {"evolution": "allow", "unknown_fields": "quarantine"},
}


class SchemaPolicy(ContractModel):
    """How the target's schema may change, and what becomes of columns that the model does not know."""

    evolution: Literal["allow", "compatible", "strict"] = "allow"
    unknown_fields: Literal["allow", "drop", "quarantine", "fail"] = "allow"

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if value not in ONE_WORD:
            raise mistake("LL112", f"`{value}` is not a schema policy", suggest(value, ONE_WORD))
        return ONE_WORD[value]
