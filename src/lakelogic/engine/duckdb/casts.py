"""Casts that give what Spark's TRY_CAST gives, as DuckDB macros.

A macro sees no types, but ``typeof`` is a constant when a query is bound: the branches that do not apply are gone
before the first row. Every branch goes through text where it would not bind for another type.
"""

from __future__ import annotations

from sqlglot import exp

from lakelogic.core.errors import CapabilityError

# Spark trims blanks and ASCII control characters around a value before it casts it, and nothing else.
_BLANKS = r"[\x01-\x20\x7f]*"
_DATE = r"([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
_TIME = r"(?:[ T]([01]?[0-9]|2[0-3])(?::([0-5]?[0-9])(?::([0-5]?[0-9])(?:\.([0-9]*))?(.*?))?)?)?"

_WHOLE = """
CASE WHEN typeof(x) = 'VARCHAR'
     THEN TRY_CAST(regexp_extract(CAST(x AS VARCHAR), '^{blanks}([+-]?[0-9]+){blanks}$', 1) AS {type})
     WHEN typeof(x) IN ('DOUBLE', 'FLOAT')
     THEN TRY_CAST(trunc(TRY_CAST(CAST(x AS VARCHAR) AS DOUBLE)) AS {type})
     WHEN typeof(x) LIKE 'DECIMAL%' THEN TRY_CAST(regexp_extract(CAST(x AS VARCHAR), '^-?[0-9]+') AS {type})
     WHEN typeof(x) LIKE 'TIMESTAMP%'
     THEN TRY_CAST(floor(epoch(TRY_CAST(CAST(x AS VARCHAR) AS TIMESTAMPTZ))) AS {type})
     ELSE TRY_CAST(x AS {type}) END"""
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_FLOATING = """
CASE WHEN typeof(x) = 'VARCHAR'
     THEN TRY_CAST(regexp_extract(CAST(x AS VARCHAR),
                   '^{blanks}({number}|(?i:[+-]?(?:inf|infinity)|nan))[dDfF]?{blanks}$', 1) AS {type})
     ELSE TRY_CAST(x AS {type}) END"""
_DECIMAL = """
CASE WHEN typeof(x) IN ('VARCHAR', 'DOUBLE', 'FLOAT')
     THEN TRY_CAST(regexp_extract(CAST(x AS VARCHAR), '^{blanks}({number}){blanks}$', 1) AS {type})
     ELSE TRY_CAST(x AS {type}) END"""
_BOOLEAN = """
CASE WHEN typeof(x) = 'VARCHAR' THEN
       CASE lower(regexp_extract(CAST(x AS VARCHAR), '^{blanks}([a-zA-Z01]+){blanks}$', 1))
            WHEN 't' THEN TRUE WHEN 'true' THEN TRUE WHEN 'y' THEN TRUE WHEN 'yes' THEN TRUE WHEN '1' THEN TRUE
            WHEN 'f' THEN FALSE WHEN 'false' THEN FALSE WHEN 'n' THEN FALSE WHEN 'no' THEN FALSE WHEN '0' THEN FALSE
       END
     ELSE TRY_CAST(x AS BOOLEAN) END"""
_PARTS = (
    f"regexp_extract(v, '(?s)^{_BLANKS}{_DATE}{_TIME})?)?{_BLANKS}$',"
    " ['y', 'mo', 'd', 'h', 'mi', 's', 'f', 'z'])"
)
_DAY_PARTS = f"regexp_extract(v, '(?s)^{_BLANKS}[+]?{_DATE}(?:[ T].*)?)?)?{_BLANKS}$', ['y', 'mo', 'd'])"
_DAY = "concat(p.y, '-', ll_two(p.mo, '01'), '-', ll_two(p.d, '01'))"

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
    "ll_date_of(v)": f"TRY_CAST(ll_day_of({_DAY_PARTS}) AS DATE)",
    "ll_cast_boolean(x)": _BOOLEAN.format(blanks=_BLANKS),
    "ll_cast_date(x)": (
        "CASE WHEN typeof(x) = 'VARCHAR' THEN ll_date_of(CAST(x AS VARCHAR)) ELSE TRY_CAST(x AS DATE) END"
    ),
    "ll_cast_timestamptz(x)": (
        "CASE WHEN typeof(x) = 'VARCHAR' THEN ll_instant(ll_parts(CAST(x AS VARCHAR)))"
        " WHEN typeof(x) LIKE '%INT' OR typeof(x) = 'INTEGER'"
        " THEN TRY(make_timestamptz(TRY_CAST(CAST(x AS VARCHAR) AS BIGINT) * 1000000))"
        " ELSE TRY_CAST(CAST(x AS VARCHAR) AS TIMESTAMPTZ) END"
    ),
    "ll_cast_timestamp(x)": (
        "CASE WHEN typeof(x) = 'VARCHAR' THEN ll_local(ll_parts(CAST(x AS VARCHAR)))"
        " ELSE TRY_CAST(CAST(x AS VARCHAR) AS TIMESTAMP) END"
    ),
    "ll_text(x)": (
        "CASE WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN ll_java_number(CAST(x AS VARCHAR))"
        " WHEN typeof(x) LIKE 'TIMESTAMP WITH%' THEN regexp_replace(CAST(x AS VARCHAR), '[+]00$', '')"
        " WHEN typeof(x) LIKE '%]' OR typeof(x) LIKE 'STRUCT%' OR typeof(x) LIKE 'MAP%' OR typeof(x) = 'BLOB'"
        " THEN ll_refuse('a text of a nested or binary value')"
        " ELSE CAST(x AS VARCHAR) END"
    ),
}
for _type in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT"):
    CAST_MACROS[f"ll_cast_{_type.lower()}(x)"] = _WHOLE.format(blanks=_BLANKS, type=_type)
for _type in ("FLOAT", "DOUBLE"):
    CAST_MACROS[f"ll_cast_{_type.lower()}(x)"] = _FLOATING.format(blanks=_BLANKS, number=_NUMBER, type=_type)

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
_NESTED = {exp.DataType.Type.ARRAY, exp.DataType.Type.LIST, exp.DataType.Type.STRUCT, exp.DataType.Type.MAP}


def cast_to(value: exp.Expression, wanted: exp.DataType) -> exp.Expression:
    """The cast of Spark, as a call of one of our macros; NULL where the value does not fit."""
    if isinstance(value, exp.Null) or wanted.this in _NESTED:
        return exp.TryCast(this=value, to=wanted)
    if wanted.this == exp.DataType.Type.DECIMAL:
        return _decimal(value, wanted)
    if wanted.this in {exp.DataType.Type.BINARY, exp.DataType.Type.VARBINARY}:
        return exp.Anonymous(this="encode", expressions=[value])
    macro = _MACRO_OF.get(wanted.this)
    if macro is None or (macro == "ll_text" and wanted.expressions):
        raise CapabilityError(f"the DuckDB engine cannot cast to `{wanted.sql('databricks')}` the way Spark does")
    return exp.Anonymous(this=macro, expressions=[value])


def decimal_macro(precision: int, scale: int) -> tuple[str, str]:
    """A macro for each decimal type, because a macro cannot take a type as an argument."""
    head = f"ll_cast_decimal_{precision}_{scale}(x)"
    return head, _DECIMAL.format(blanks=_BLANKS, number=_NUMBER, type=f"DECIMAL({precision},{scale})")


def _decimal(value: exp.Expression, wanted: exp.DataType) -> exp.Expression:
    sizes = [int(part.name) for part in wanted.expressions]
    precision, scale = (sizes + [0])[:2] if sizes else (10, 0)
    return exp.Anonymous(this=f"ll_cast_decimal_{precision}_{scale}", expressions=[value])
