"""`quality.row_rules`: what must hold for a single row, one class per kind."""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from lakelogic.contract.grammar import Bound, Flag, Scalar, SomeTexts, Text
from lakelogic.contract.one_key import OneKeyItem, number_items, parse_item

Severity = Literal["error", "warning", "info"]
OnNull = Literal["pass", "fail"]


class _RowRule(OneKeyItem):
    """What every row rule may say about itself; `on_null` None means that of `quality`."""

    name: Text | None = None
    category: Text = "correctness"
    severity: Severity = "error"
    description: Text | None = None
    phase: Literal["pre", "post"] = "pre"
    on_null: OnNull | None = None


class SqlRule(_RowRule):
    """A condition that a row fails when it is false."""

    WHOLE: ClassVar[str | None] = "sql"
    kind: Literal["sql"] = "sql"
    sql: Text
    dialect: Text | None = None


class NotNull(_RowRule):
    """These columns have a value."""

    SHORT: ClassVar[str | None] = "fields"
    kind: Literal["not_null"] = "not_null"
    category: Text = "completeness"
    fields: SomeTexts


class AcceptedValues(_RowRule):
    """The value is one of a list."""

    kind: Literal["accepted_values"] = "accepted_values"
    field: Text
    values: Annotated[tuple[Scalar, ...], Field(min_length=1)]


class RegexMatch(_RowRule):
    """The text matches a pattern."""

    kind: Literal["regex_match"] = "regex_match"
    field: Text
    pattern: Text


class Range(_RowRule):
    """The value stands between two limits, which belong to it when inclusive."""

    kind: Literal["range"] = "range"
    field: Text
    min: Bound | None = None
    max: Bound | None = None
    inclusive: Flag = True


class ReferentialIntegrity(_RowRule):
    """The value stands in a column of a link."""

    kind: Literal["referential_integrity"] = "referential_integrity"
    field: Text
    reference: Text
    key: Text


class LifecycleWindow(_RowRule):
    """The event happened while its subject was alive, by a link that knows start and end."""

    kind: Literal["lifecycle_window"] = "lifecycle_window"
    event_ts: Text
    event_key: Text
    reference: Text
    reference_key: Text
    start_field: Text
    end_field: Text
    end_default: Text | None = None


_Kind = SqlRule | NotNull | AcceptedValues | RegexMatch | Range | ReferentialIntegrity | LifecycleWindow
ROW_RULE_KINDS: dict[str, type[OneKeyItem]] = {cls.model_fields["kind"].default: cls for cls in _Kind.__args__}
ROW_RULE_BESIDE = frozenset({"name", "category", "severity", "description", "phase", "on_null", "dialect"})

RowRule = Annotated[
    _Kind,
    Field(discriminator="kind"),
    BeforeValidator(parse_item("row rule", ROW_RULE_KINDS, ROW_RULE_BESIDE)),
]
RowRules = Annotated[tuple[RowRule, ...], BeforeValidator(number_items("quality.row_rules"))]
