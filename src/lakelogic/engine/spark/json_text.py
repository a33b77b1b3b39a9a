"""SQL that parses JSON text strictly: digits stay as they were written, and nothing behind a value is passed over."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.engine.spark.words import literal, quote
from lakelogic.plan.nested import nested_value

# Spark's JSON parser turns 1.50 into 1.5 and 1e400 into Infinity. So each such number is wrapped, before
# parsing, in a string between two marks that no text has, and unwrapped after. Possessive quantifiers: a line
# of any length neither recurses nor backtracks.
_MARK = "\uf8f2"
_FLOATS = (
    r'\G((?:[^"0-9-]++|"(?:[^"\\]++|\\.)*+"|-?[0-9]++(?![0-9.eE]))*+)'
    r"(-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)(?![0-9.eE+-])(?!\s*+:)"
)
_HAS_FLOAT = "[0-9][.eE][0-9+-]"
_VALUES, _END, _BAD = f"{_MARK}values", f"{_MARK}end", f"{_MARK}bad"
_OPTIONS = (
    "map('mode', 'PERMISSIVE', 'allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false', "
    f"'columnNameOfCorruptRecord', '{_BAD}')"
)


def mark_floats(text: str) -> str:
    """The text with every number that Spark would write in its own way as a string between marks."""
    wrapped = f'$1"{_MARK}$2{_MARK}"'
    replaced = f"regexp_replace({text}, {literal(_FLOATS)}, {literal(wrapped)})"
    return f"CASE WHEN {text} RLIKE '{_HAS_FLOAT}' AND NOT contains({text}, '{_MARK}') THEN {replaced} ELSE {text} END"


def unmark(value: str, when: str = "") -> str:
    """A text out of a marked one, with the digits that were written."""
    unwrapped = f"regexp_replace({value}, '\"?{_MARK}([^{_MARK}]*){_MARK}\"?', '$1')"
    return f"CASE WHEN {when}contains({value}, '{_MARK}') THEN {unwrapped} ELSE {value} END"


def parse_values(marked: str, type_: str) -> str:
    """The JSON values in a text, separated by commas, to be looked at by `values_of`.

    They are parsed as the items of an array with something behind it: Spark would pass over all that follows the end
    of a value, such as the bracket behind the last line of an array.
    """
    schema = literal(f"STRUCT<{quote(_VALUES)}: ARRAY<{type_}>, {quote(_END)}: STRING, {quote(_BAD)}: STRING>")
    wrapped = f"concat({literal(_opened())}, {marked}, {literal(_closed())})"
    return f"from_json({wrapped}, {schema}, {_OPTIONS})"


def values_of(parsed: str) -> str:
    """The values as an array, NULL where the text is not JSON or a value is of another shape."""
    whole = f"{parsed}.{quote(_END)} IS NOT NULL AND {parsed}.{quote(_BAD)} IS NULL"
    return f"CASE WHEN {whole} THEN {parsed}.{quote(_VALUES)} END"


def json_parts(raw: str, type_: exp.DataType) -> str:
    """A JSON text as a value of a type whose leaves are texts; NULL where it has another shape."""
    parsed = parse_values(mark_floats(raw), type_.sql("spark"))
    # Names for what is computed once: an array of one item, and a lambda over it.
    values = f"transform(array({parsed}), _lakelogic_json -> {values_of('_lakelogic_json')})[0]"
    only = "CASE WHEN size(_lakelogic_values) = 1 THEN _lakelogic_values[0] END"
    value = f"transform(array({values}), _lakelogic_values -> {only})[0]"
    as_written = nested_value(exp.Var(this="_lakelogic_value"), type_, type_, _Unmark()).sql("spark")
    has_float = f"{raw} RLIKE '{_HAS_FLOAT}'"
    return f"CASE WHEN {has_float} THEN transform(array({value}), _lakelogic_value -> {as_written})[0] ELSE {value} END"


class _Unmark:
    """A leaf of a nested value with the digits that were written."""

    def value(self, found: exp.Expr, have: exp.DataType, wanted: exp.DataType) -> exp.Expr:
        return exp.Var(this=unmark(found.sql("spark")))

    def failed(self, found: exp.Expr, have: exp.DataType, wanted: exp.DataType) -> exp.Expr | None:
        return None


def _opened() -> str:
    return f'{{"{_VALUES}":['


def _closed() -> str:
    return f'],"{_END}":1}}'
