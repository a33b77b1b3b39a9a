# ruff: noqa: E501 - a table of SQL
"""Casts that give what Spark's TRY_CAST gives, as DuckDB macros.

A macro sees no types, but ``typeof`` is a constant when a query is bound: the branches that do not apply are gone
before the first row. Every branch goes through text where it would not bind for another type.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lakelogic.core.errors import CapabilityError

# Spark trims blanks and ASCII control characters around a value before it casts it, and nothing else.
_BLANKS = r"[\x01-\x20\x7f]*"
_MONTH_AND_DAY = r"(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
_TIME = r"(?:[ T]([01]?[0-9]|2[0-3])(?::([0-5]?[0-9])(?::([0-5]?[0-9])(?:\.([0-9]*))?(.*?))?)?)?"

_WHOLE_TEXT = "TRY_CAST(regexp_extract(v, '^{blanks}([+-]?[0-9]+){blanks}$', 1) AS {type})"
_WHOLE = """
CASE WHEN typeof(x) = 'VARCHAR' THEN ll_from_text_{name}(CAST(x AS VARCHAR))
     WHEN typeof(x) IN ('DOUBLE', 'FLOAT')
     THEN TRY_CAST(trunc(TRY_CAST(CAST(x AS VARCHAR) AS DOUBLE)) AS {type})
     WHEN typeof(x) LIKE 'DECIMAL%' THEN TRY_CAST(regexp_extract(CAST(x AS VARCHAR), '^-?[0-9]+') AS {type})
     WHEN typeof(x) LIKE 'TIMESTAMP%'
     THEN TRY_CAST(floor(epoch(TRY_CAST(CAST(x AS VARCHAR) AS TIMESTAMPTZ))) AS {type})
     ELSE TRY_CAST(x AS {type}) END"""
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_FLOATING_TEXT = (
    "TRY_CAST(CASE WHEN regexp_matches(v, '^{blanks}[+-]?0[xX]') THEN ll_hex_number(v) ELSE "
    "regexp_extract(v, '^{blanks}({number}|(?i:[+-]?(?:inf|infinity)|nan))[dDfF]?{blanks}$', 1) END AS {type})"
)
_FLOATING = """
CASE WHEN typeof(x) = 'VARCHAR' THEN ll_from_text_{name}(CAST(x AS VARCHAR))
     ELSE TRY_CAST(x AS {type}) END"""
_DECIMAL_TEXT = "TRY_CAST(regexp_extract(v, '^{blanks}({number}){blanks}$', 1) AS {type})"
_DECIMAL = """
CASE WHEN typeof(x) IN ('VARCHAR', 'DOUBLE', 'FLOAT') THEN ll_from_text_{name}(CAST(x AS VARCHAR))
     ELSE TRY_CAST(x AS {type}) END"""
_BOOLEAN_TEXT = """
CASE lower(regexp_extract(v, '^{blanks}([a-zA-Z01]+){blanks}$', 1))
     WHEN 't' THEN TRUE WHEN 'true' THEN TRUE WHEN 'y' THEN TRUE WHEN 'yes' THEN TRUE WHEN '1' THEN TRUE
     WHEN 'f' THEN FALSE WHEN 'false' THEN FALSE WHEN 'n' THEN FALSE WHEN 'no' THEN FALSE WHEN '0' THEN FALSE
END"""
_PARTS = f"regexp_extract(v, '(?s)^{_BLANKS}([+-]?[0-9]{{4,6}}){_MONTH_AND_DAY}{_TIME})?)?{_BLANKS}$', ['y', 'mo', 'd', 'h', 'mi', 's', 'f', 'z'])"
_DAY_PARTS = (
    f"regexp_extract(v, '(?s)^{_BLANKS}([+-]?[0-9]{{4,7}}){_MONTH_AND_DAY}(?:[ T].*)?)?)?{_BLANKS}$', ['y', 'mo', 'd'])"
)
_DAY = "concat(ltrim(p.y, '+'), '-', ll_two(p.mo, '01'), '-', ll_two(p.d, '01'))"

# What nearly all files hold is told by patterns without groups, which are much faster, and read by DuckDB itself.
_PLAIN_WHOLE, _PLAIN_NUMBER = "^-?[0-9]{1,18}$", "^-?[0-9]{1,15}(?:[.][0-9]{0,15})?$"
_PLAIN_DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_PLAIN_MOMENT = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]{1,6})?$"
_MOMENT_TEXT = (
    f"CASE WHEN regexp_matches(v, '{_PLAIN_MOMENT}') THEN TRY_CAST(concat(v, '%s') AS %s)"
    " ELSE list_transform([ll_parts(v)], lambda p: %s(p))[1] END"
)

# Name and parameters of a macro -> its body. Order matters: a macro is defined after those it uses.
CAST_MACROS: dict[str, str] = {
    "ll_two(v, other)": "CASE WHEN v = '' THEN other ELSE lpad(v, 2, '0') END",
    "ll_parts(v)": _PARTS,
    "ll_day_of(p)": _DAY,
    "ll_clock(p)": (
        "concat(ll_day_of(p), ' ', ll_two(p.h, '00'), ':', ll_two(p.mi, '00'), ':', ll_two(p.s, '00'),"
        " '.', rpad(left(p.f, 6), 6, '0'))"
    ),
    "ll_local(p)": "TRY_CAST(CASE WHEN p.z = '' OR ll_zone_known(p.z) THEN ll_clock(p) END AS TIMESTAMP)",
    # The zones that nearly all files use stay in SQL; all others go through the rules of java.time in Python.
    "ll_instant(p)": (
        "CASE WHEN p.z IN ('', 'Z', ' UTC') THEN TRY_CAST(concat(ll_clock(p), '+00') AS TIMESTAMPTZ)"
        " ELSE TRY_CAST(concat(ll_in_utc(ll_clock(p), p.z), '+00') AS TIMESTAMPTZ) END"
    ),
    "ll_from_text_date(v)": (
        f"CASE WHEN regexp_matches(v, '{_PLAIN_DAY}') THEN TRY_CAST(v AS DATE)"
        f" ELSE TRY_CAST(ll_day_of({_DAY_PARTS}) AS DATE) END"
    ),
    "ll_from_text_boolean(v)": _BOOLEAN_TEXT.format(blanks=_BLANKS),
    # The list holds the parts once; written out in place they would stand in the query thirty times.
    "ll_from_text_timestamptz(v)": _MOMENT_TEXT % ("+00", "TIMESTAMPTZ", "ll_instant"),
    "ll_from_text_timestamp(v)": _MOMENT_TEXT % ("", "TIMESTAMP", "ll_local"),
    "ll_cast_boolean(x)": (
        "CASE WHEN typeof(x) = 'VARCHAR' THEN ll_from_text_boolean(CAST(x AS VARCHAR)) ELSE TRY_CAST(x AS BOOLEAN) END"
    ),
    "ll_cast_date(x)": (
        "CASE WHEN typeof(x) = 'VARCHAR' THEN ll_from_text_date(CAST(x AS VARCHAR)) ELSE TRY_CAST(x AS DATE) END"
    ),
    "ll_cast_timestamptz(x)": (
        "CASE WHEN typeof(x) = 'VARCHAR' THEN ll_from_text_timestamptz(CAST(x AS VARCHAR))"
        " WHEN typeof(x) LIKE '%INT' OR typeof(x) = 'INTEGER'"
        " THEN TRY(make_timestamptz(TRY_CAST(CAST(x AS VARCHAR) AS BIGINT) * 1000000))"
        " ELSE TRY_CAST(CAST(x AS VARCHAR) AS TIMESTAMPTZ) END"
    ),
    "ll_cast_timestamp(x)": (
        "CASE WHEN typeof(x) = 'VARCHAR' THEN ll_from_text_timestamp(CAST(x AS VARCHAR))"
        " ELSE TRY_CAST(CAST(x AS VARCHAR) AS TIMESTAMP) END"
    ),
    # Spark writes years beyond 9999 with a sign, and those before the year 0 too.
    "ll_year_text(v)": "CASE WHEN regexp_matches(v, '^[0-9]{5}|BC') THEN ll_far_text(v) ELSE v END",
    "ll_text(x)": (
        "CASE WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN ll_java_number(CAST(x AS VARCHAR))"
        " WHEN typeof(x) = 'DATE' OR typeof(x) LIKE 'TIMESTAMP%'"
        " THEN ll_year_text(regexp_replace(CAST(x AS VARCHAR), '[+]00$', ''))"
        " WHEN typeof(x) LIKE '%]' OR typeof(x) LIKE 'STRUCT%' OR typeof(x) LIKE 'MAP%' OR typeof(x) = 'BLOB'"
        " THEN ll_refuse('a text of a nested or binary value')"
        " ELSE CAST(x AS VARCHAR) END"
    ),
}


def _both_forms(name: str, type_: str, from_text: str, from_any: str) -> dict[str, str]:
    """A macro for operands that are known to be text, and one for all others."""
    parts = {"blanks": _BLANKS, "number": _NUMBER, "type": type_, "name": name}
    plain = _PLAIN_WHOLE if from_text is _WHOLE_TEXT else _PLAIN_NUMBER
    usual = f"CASE WHEN regexp_matches(v, '{plain}') THEN TRY_CAST(v AS {type_})"
    return {
        f"ll_from_text_{name}(v)": f"{usual} ELSE {from_text.format(**parts)} END",
        f"ll_cast_{name}(x)": from_any.format(**parts),
    }


for _type in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT"):
    CAST_MACROS |= _both_forms(_type.lower(), _type, _WHOLE_TEXT, _WHOLE)
for _type in ("FLOAT", "DOUBLE"):
    CAST_MACROS |= _both_forms(_type.lower(), _type, _FLOATING_TEXT, _FLOATING)

_MACRO_OF = {
    exp.DataType.Type.TINYINT: "ll_cast_tinyint",
    exp.DataType.Type.SMALLINT: "ll_cast_smallint",
    exp.DataType.Type.INT: "ll_cast_integer",
    exp.DataType.Type.BIGINT: "ll_cast_bigint",
    exp.DataType.Type.FLOAT: "ll_cast_float",
    exp.DataType.Type.DOUBLE: "ll_cast_double",
    exp.DataType.Type.BOOLEAN: "ll_cast_boolean",
    exp.DataType.Type.DATE: "ll_cast_date",
    exp.DataType.Type.TIMESTAMPTZ: "ll_cast_timestamptz",
    exp.DataType.Type.TIMESTAMPLTZ: "ll_cast_timestamptz",
    exp.DataType.Type.TIMESTAMP: "ll_cast_timestamp",
    exp.DataType.Type.TIMESTAMPNTZ: "ll_cast_timestamp",
    exp.DataType.Type.TEXT: "ll_text",
    exp.DataType.Type.VARCHAR: "ll_text",
}
_GIVE_TEXT = {
    "ll_text", "ll_upper", "ll_lower", "ll_initcap", "ll_substring", "ll_left", "ll_right", "ll_json", "ll_to_json", "ll_format",
    "ll_variant_get", "ll_parse_json", "ll_hex", "ll_md5", "ll_sha1", "ll_sha256", "ll_sha2", "ll_join", "substring", "lpad", "rpad", "regexp_replace",
    "regexp_extract", "lakelogic_hmac", "lakelogic_encrypt", "lakelogic_encrypt_same", "lakelogic_decrypt", "chr",
    "replace", "ll_chr", "ll_lpad", "ll_rpad", "ll_reverse", "ll_split_part", "ll_nothing", "ll_substring_index", "ll_any_substring_index",
    "ll_url_decode", "ll_regex_replace", "ll_regex_extract", "ll_regex_substring", "ll_full_upper", "ll_full_lower", "ll_java_number",
}  # fmt: skip
_PLAIN_TYPES = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "BOOLEAN"}
_NESTED = {exp.DataType.Type.ARRAY, exp.DataType.Type.LIST, exp.DataType.Type.STRUCT, exp.DataType.Type.MAP}


def is_text(node: exp.Expr) -> bool:
    """True when an operand is known to be text, so that no branch for other types is needed."""
    match node:
        case exp.Literal():
            return bool(node.is_string)
        case exp.Column():
            return node.meta.get("duckdb_type") == "VARCHAR"
        case exp.Paren() | exp.Trim():
            return is_text(node.this)
        case exp.Anonymous():
            return node.name.lower() in _GIVE_TEXT
        case exp.Cast():
            return bool(node.to.is_type(*exp.DataType.TEXT_TYPES))
        case exp.DPipe() | exp.ConcatWs() | exp.Repeat() | exp.Space():
            return True
        case exp.Coalesce():
            return _are_texts([node.this, *node.expressions])
        case exp.Case():
            default = node.args.get("default")
            return _are_texts([*[branch.args["true"] for branch in node.args["ifs"]], *([default] if default else [])])
        case exp.Translate() | exp.Nullif():
            return is_text(node.this)
        case _:
            return False


def _are_texts(parts: Sequence[exp.Expr]) -> bool:
    """Whether all that are not NULL are texts, and one is."""
    known = [part for part in parts if not isinstance(part, exp.Null)]
    return bool(known) and all(is_text(part) for part in known)


def to_text(node: exp.Expr) -> exp.Expr:
    if is_text(node):
        return node
    if _is_plain(node):
        return exp.cast(node, "text", copy=False)
    return exp.Anonymous(this="ll_text", expressions=[node])


def _is_plain(node: exp.Expr) -> bool:
    """Columns that DuckDB writes as Spark does: a thousand macros of all types take seconds to bind."""
    known = str(node.meta.get("duckdb_type", "")) if isinstance(node, exp.Column) else ""
    return known in _PLAIN_TYPES or known.startswith("DECIMAL")


def cast_to(value: exp.Expr, wanted: exp.DataType) -> exp.Expr:
    """The cast of Spark, as a call of one of our macros; NULL where the value does not fit."""
    if isinstance(value, exp.Null) or wanted.this in _NESTED:
        return exp.TryCast(this=value, to=wanted)
    if wanted.this in {exp.DataType.Type.BINARY, exp.DataType.Type.VARBINARY}:
        return exp.Anonymous(this="encode", expressions=[value])
    macro = _decimal(wanted) if wanted.this == exp.DataType.Type.DECIMAL else _MACRO_OF.get(wanted.this)
    if macro is None or (macro == "ll_text" and wanted.expressions):
        raise CapabilityError(f"the DuckDB engine cannot cast to `{wanted.sql('databricks')}` the way Spark does")
    if macro == "ll_text":
        return to_text(value)
    if is_text(value):
        macro = macro.replace("ll_cast_", "ll_from_text_")
    return exp.Anonymous(this=macro, expressions=[value])


def decimal_macros(precision: int, scale: int) -> dict[str, str]:
    """Macros for each decimal type, because a macro cannot take a type as an argument."""
    return _both_forms(f"decimal_{precision}_{scale}", f"DECIMAL({precision},{scale})", _DECIMAL_TEXT, _DECIMAL)


def _decimal(wanted: exp.DataType) -> str:
    sizes = [int(part.name) for part in wanted.expressions]
    precision, scale = [*sizes, 0][:2] if sizes else (10, 0)
    return f"ll_cast_decimal_{precision}_{scale}"
