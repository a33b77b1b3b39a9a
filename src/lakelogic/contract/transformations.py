"""`transformations`: the steps that rows go through, one class per kind."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from lakelogic.contract.grammar import (
    Bound,
    Checked,
    ContractModel,
    Duration,
    Scalar,
    SomeTexts,
    Text,
    Texts,
    describe_type,
)
from lakelogic.contract.mistakes import mistake
from lakelogic.contract.model import FieldType
from lakelogic.contract.one_key import OneKeyItem, number_items, parse_item

Phase = Literal["pre", "post"]
_NAME = re.compile(r"[A-Za-z_]\w*")


class _Cleaning(OneKeyItem):
    """Steps that come before the rules unless they say otherwise."""

    phase: Phase = "pre"


class _Enriching(OneKeyItem):
    """Steps that come after the rules unless they say otherwise."""

    phase: Phase = "post"


class SqlStep(_Cleaning):
    """A SELECT over `source`, or expressions that add or replace columns."""

    WHOLE: ClassVar[str | None] = "sql"
    kind: Literal["sql"] = "sql"
    sql: Text
    dialect: Text | None = None


class Deduplicate(_Cleaning):
    """Keep one row per key."""

    SHORT: ClassVar[str | None] = "on"
    kind: Literal["deduplicate"] = "deduplicate"
    on: SomeTexts
    order_by: Texts = ()
    keep: Literal["first", "last"] = "first"


class Rename(_Cleaning):
    """Give columns other names: old to new."""

    WHOLE: ClassVar[str | None] = "mapping"
    kind: Literal["rename"] = "rename"
    mapping: dict[str, Text]


class Select(_Cleaning):
    """Keep these columns only."""

    WHOLE: ClassVar[str | None] = "columns"
    kind: Literal["select"] = "select"
    columns: SomeTexts


class Drop(_Cleaning):
    """Take these columns away."""

    WHOLE: ClassVar[str | None] = "columns"
    kind: Literal["drop"] = "drop"
    columns: SomeTexts


class Cast(_Cleaning):
    """Change the types of columns; a value that does not cast fails its row."""

    WHOLE: ClassVar[str | None] = "types"
    kind: Literal["cast"] = "cast"
    types: dict[str, FieldType]


class Trim(_Cleaning):
    """Take blanks away from both sides of text, or one."""

    SHORT: ClassVar[str | None] = "fields"
    kind: Literal["trim"] = "trim"
    fields: SomeTexts
    side: Literal["both", "left", "right"] = "both"


class Lower(_Cleaning):
    """Write text in lower case."""

    SHORT: ClassVar[str | None] = "fields"
    kind: Literal["lower"] = "lower"
    fields: SomeTexts


class Upper(_Cleaning):
    """Write text in upper case."""

    SHORT: ClassVar[str | None] = "fields"
    kind: Literal["upper"] = "upper"
    fields: SomeTexts


class Derive(_Enriching):
    """Add or replace columns by expressions: name to SQL."""

    kind: Literal["derive"] = "derive"
    columns: dict[str, Text]

    @classmethod
    def from_body(cls, body: Any) -> dict[str, Any]:
        if not isinstance(body, Mapping):
            hint = 'write the new column and its SQL: `derive: { net: "amount - fee" }`'
            raise mistake("LL113", f"must be a mapping, not {describe_type(body)}", hint)
        if set(body) == {"field", "sql"} and isinstance(body["field"], str):
            return {"columns": {body["field"]: body["sql"]}}
        return {"columns": dict(body)}


class CoalesceStep(_Cleaning):
    """Take the first of several columns that has a value."""

    kind: Literal["coalesce"] = "coalesce"
    field: Text
    sources: SomeTexts
    default: Scalar = None


class MapValues(_Cleaning):
    """Replace values by others; what is not listed becomes `default` where that is given, else stays."""

    kind: Literal["map_values"] = "map_values"
    field: Text
    mapping: dict[str, Scalar]
    default: Scalar = None
    output: Text | None = None


class Filter(_Cleaning):
    """Keep the rows for which the condition is true; the ledger counts the others."""

    WHOLE: ClassVar[str | None] = "sql"
    kind: Literal["filter"] = "filter"
    sql: Text


class Split(_Cleaning):
    """Cut text into an array."""

    kind: Literal["split"] = "split"
    field: Text
    delimiter: Annotated[str, Field(min_length=1)] = ","
    output: Text | None = None


class Explode(_Cleaning):
    """Make one row per element of an array."""

    kind: Literal["explode"] = "explode"
    field: Text
    output: Text | None = None


class JsonExtract(_Cleaning):
    """Take one value out of JSON text; the YAML key of `json_path` is `path`."""

    kind: Literal["json_extract"] = "json_extract"
    field: Text
    source: Text
    json_path: Text = Field(validation_alias="path", serialization_alias="path")
    cast: FieldType | None = None


class Bin(ContractModel):
    """One band of values with its label; at least one limit."""

    lt: Bound | None = None
    lte: Bound | None = None
    gt: Bound | None = None
    gte: Bound | None = None
    label: Scalar


class Bucket(_Enriching):
    """Name the band that a value falls into; the first bin that fits wins."""

    kind: Literal["bucket"] = "bucket"
    field: Text
    source: Text
    bins: Annotated[tuple[Bin, ...], Field(min_length=1)]
    default: Scalar = None


class DateDiff(_Enriching):
    """Count the time between two columns; the YAML key of `from_` is `from`."""

    kind: Literal["date_diff"] = "date_diff"
    field: Text
    from_: Text = Field(validation_alias="from", serialization_alias="from")
    to: Text
    unit: Literal["days", "seconds", "minutes", "hours", "weeks", "months", "years"] = "days"


class DateRangeExplode(_Enriching):
    """Make one row per day (or other interval) from start to end, both included."""

    kind: Literal["date_range_explode"] = "date_range_explode"
    start: Text
    end: Text
    interval: Duration = Field(default="1d", validate_default=True)
    output: Text


class Lookup(_Enriching):
    """Fetch one value from a link by key."""

    kind: Literal["lookup"] = "lookup"
    field: Text
    reference: Text
    on: Text
    key: Text
    value: Text
    default: Scalar = None


def _check_join_on(value: object) -> tuple[str, ...] | str:
    if isinstance(value, str) and value.strip():
        return (value,) if _NAME.fullmatch(value) else str(value)
    if isinstance(value, list | tuple) and value and all(isinstance(name, str) for name in value):
        return tuple(value)
    hint = "write one column, a list of columns, or a SQL condition"
    raise mistake("LL113", f"must be columns, not {describe_type(value)}", hint)


_JOIN_ON = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
# Names that are equal on both sides (a tuple), or one SQL condition (text).
JoinOn = Annotated[tuple[str, ...] | str, Checked(_check_join_on, _JOIN_ON)]


class Join(_Enriching):
    """Join a link; `key` names the link's columns where they differ from `on`."""

    kind: Literal["join"] = "join"
    reference: Text
    on: JoinOn
    key: Texts = ()
    fields: Texts = ()
    type: Literal["left", "inner"] = "left"
    prefix: str = ""
    defaults: dict[str, Scalar] = Field(default_factory=dict)


class Pivot(_Enriching):
    """Turn values of a column into columns."""

    kind: Literal["pivot"] = "pivot"
    on: Text
    values: Annotated[tuple[Scalar, ...], Field(min_length=1)]
    aggregate: Text
    group_by: SomeTexts


class Unpivot(_Enriching):
    """Turn columns into rows of name and value."""

    kind: Literal["unpivot"] = "unpivot"
    columns: SomeTexts
    name: Text
    value: Text


class WindowStep(_Enriching):
    """Add columns computed over a window of rows: name to SQL."""

    kind: Literal["window"] = "window"
    partition_by: Texts = ()
    order_by: Texts = ()
    columns: dict[str, Text]


class Rollup(_Enriching):
    """Aggregate: one row per group."""

    kind: Literal["rollup"] = "rollup"
    group_by: Texts = ()
    aggregations: dict[str, Text]
    keys: Texts = ()


class Union(_Enriching):
    """Add the rows of links."""

    WHOLE: ClassVar[str | None] = "links"
    kind: Literal["union"] = "union"
    links: SomeTexts


_Kind = (
    SqlStep | Deduplicate | Rename | Select | Drop | Cast | Trim | Lower | Upper | Derive | CoalesceStep
    | MapValues | Filter | Split | Explode | JsonExtract | Bucket | DateDiff | DateRangeExplode | Lookup
    | Join | Pivot | Unpivot | WindowStep | Rollup | Union
)  # fmt: skip
STEP_KINDS: dict[str, type[OneKeyItem]] = {cls.model_fields["kind"].default: cls for cls in _Kind.__args__}
STEP_BESIDE = frozenset({"phase", "dialect"})

Transformation = Annotated[
    _Kind, Field(discriminator="kind"), BeforeValidator(parse_item("step", STEP_KINDS, STEP_BESIDE))
]
Transformations = Annotated[tuple[Transformation, ...], BeforeValidator(number_items("transformations"))]
