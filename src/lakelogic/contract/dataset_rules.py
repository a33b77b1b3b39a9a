"""`quality.dataset_rules`: what must hold for the accepted rows together, one class per kind."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from lakelogic.contract.grammar import Count, Number, Ratio, SomeTexts, Text
from lakelogic.contract.mistakes import mistake
from lakelogic.contract.one_key import OneKeyItem, number_items, parse_item
from lakelogic.contract.row_rules import Severity


class _DatasetRule(OneKeyItem):
    """What every dataset rule may say about itself."""

    name: Text | None = None
    severity: Severity = "error"
    description: Text | None = None


class Unique(_DatasetRule):
    """No two rows have the same values in these columns."""

    SHORT: ClassVar[str | None] = "fields"
    kind: Literal["unique"] = "unique"
    fields: SomeTexts


class NullRatio(_DatasetRule):
    """At most this share of the rows has no value."""

    kind: Literal["null_ratio"] = "null_ratio"
    field: Text
    max: Ratio


class RowCountBetween(_DatasetRule):
    """The number of accepted rows stands between these limits."""

    kind: Literal["row_count_between"] = "row_count_between"
    min: Count | None = None
    max: Count | None = None


_BOUNDS = ("must_be", "must_be_greater_than", "must_be_less_than", "must_be_between")


class SqlDatasetRule(_DatasetRule):
    """A query that gives one number, and the bounds it must keep; `must_be_between` includes its limits."""

    WHOLE: ClassVar[str | None] = "sql"
    kind: Literal["sql"] = "sql"
    sql: Text
    dialect: Text | None = None
    must_be: Number | None = None
    must_be_greater_than: Number | None = None
    must_be_less_than: Number | None = None
    must_be_between: tuple[Number, Number] | None = None

    @model_validator(mode="before")
    @classmethod
    def _has_bounds(cls, value: Any) -> Any:
        if isinstance(value, dict) and not any(key in value for key in _BOUNDS):
            hint = "add `must_be_greater_than`, `must_be_less_than`, `must_be_between` or `must_be`"
            raise mistake("LL111", "a SQL dataset rule needs a bound", hint)
        return value


_Kind = Unique | NullRatio | RowCountBetween | SqlDatasetRule
DATASET_RULE_KINDS: dict[str, type[OneKeyItem]] = {cls.model_fields["kind"].default: cls for cls in _Kind.__args__}
DATASET_RULE_BESIDE = frozenset({"name", "severity", "description", "dialect", *_BOUNDS})

DatasetRule = Annotated[
    _Kind,
    Field(discriminator="kind"),
    BeforeValidator(parse_item("dataset rule", DATASET_RULE_KINDS, DATASET_RULE_BESIDE)),
]
DatasetRules = Annotated[tuple[DatasetRule, ...], BeforeValidator(number_items("quality.dataset_rules"))]
