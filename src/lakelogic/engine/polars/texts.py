"""Functions of text. What Polars has under another meaning is done by Python, row by row."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable

import polars as pl
from sqlglot import exp

from lakelogic.engine.local.calls import initcap, levenshtein, sha2, substring_index, url_decode
from lakelogic.engine.local.likes import find_like_mistake
from lakelogic.engine.polars.casts import to_text
from lakelogic.engine.polars.types import Type, is_null, is_whole
from lakelogic.engine.polars.values import Compile, Handler, Value, call, lit, null, refused

_STRING, _INT, _BOOLEAN = pl.String(), pl.Int32(), pl.Boolean()
_FAR = 2147483647


def text_of(node: exp.Expr, value_of: Compile) -> Value:
    """A node as text; what is no text is cast, as Spark does."""
    return to_text(value_of(node), value_of.guard)


def whole_of(node: exp.Expr, value_of: Compile) -> Value:
    value = value_of(node)
    if not is_whole(value.type) and not is_null(value.type):
        raise refused(f"{node.sql('databricks')} as a whole number")
    return value


def constant_text(node: exp.Expr | None, what: exp.Expr) -> str:
    if not isinstance(node, exp.Literal) or not node.is_string:
        raise refused(f"{what.sql('databricks')} with a pattern that is not a text in quotes")
    return str(node.this)


def _python(function: Callable[..., object], keys: tuple[str, ...], gives: Type = _STRING) -> Handler:
    """A function of Python over texts (and whole numbers, under the keys that name them)."""

    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        parts = [_argument(node, key, value_of) for key in keys]
        return call(function, parts, gives, value_of.guard)

    return compiled


def _argument(node: exp.Expr, key: str, value_of: Compile) -> Value:
    part = node.expressions[int(key)] if key.isdigit() else node.args[key]
    value = value_of(part)
    return value if is_whole(value.type) and key != "this" and key != "0" else to_text(value, value_of.guard)


def _concat(node: exp.Expr, value_of: Compile) -> Value:
    parts = [value_of(part) for part in node.expressions]
    if any(isinstance(part.type, pl.List) for part in parts):
        raise refused(node)
    texts = [to_text(part, value_of.guard).expr for part in parts]
    return Value(pl.concat_str(texts, ignore_nulls=False), _STRING)


def _pipe(node: exp.Expr, value_of: Compile) -> Value:
    return Value(
        pl.concat_str(text_of(node.this, value_of).expr, text_of(node.expression, value_of).expr, ignore_nulls=False),
        _STRING,
    )


def _concat_ws(node: exp.Expr, value_of: Compile) -> Value:
    mark, *parts = node.expressions
    separator = value_of(mark).constant
    if not isinstance(separator, str):
        raise refused(node)
    lists = []
    for part in parts:
        value = value_of(part)
        is_list = isinstance(value.type, pl.List)
        lists.append(value.expr.fill_null(pl.lit([], dtype=pl.List(pl.String))) if is_list else _one(value, value_of))
    if not lists:
        return lit("", _STRING)
    return Value(pl.concat_list(lists).list.drop_nulls().list.join(separator), _STRING)


def _one(value: Value, value_of: Compile) -> pl.Expr:
    return pl.concat_list([to_text(value, value_of.guard).expr])


def _substring(node: exp.Expr, value_of: Compile) -> Value:
    value = text_of(node.this, value_of)
    start = whole_of(node.args["start"], value_of)
    size = node.args.get("length")
    return cut(value, start, whole_of(size, value_of) if size is not None else lit(_FAR, _INT))


def cut(value: Value, start: Value, size: Value) -> Value:
    """Spark counts from 1, or from the end where the start is negative; 0 is 1."""
    if isinstance(start.constant, int) and start.constant >= 0 and isinstance(size.constant, int):
        return Value(value.expr.str.slice(max(start.constant - 1, 0), max(size.constant, 0)), _STRING)
    at, length = start.expr.cast(pl.Int64), size.expr.cast(pl.Int64)
    total = value.expr.str.len_chars().cast(pl.Int64)
    first = pl.when(at > 0).then(at - 1).when(at < 0).then(total + at).otherwise(0)
    after = (first + pl.max_horizontal(length, pl.lit(0))).clip(0)
    begin = first.clip(0)
    known = at.is_not_null() & length.is_not_null() & value.expr.is_not_null()
    found = value.expr.str.slice(begin, (after - begin).clip(0))
    return Value(pl.when(known).then(found), _STRING)


def _left(node: exp.Expr, value_of: Compile) -> Value:
    return cut(text_of(node.this, value_of), lit(1, _INT), whole_of(node.expression, value_of))


def _right(node: exp.Expr, value_of: Compile) -> Value:
    return call(
        lambda text, size: text[-size:] if size > 0 else "",
        [text_of(node.this, value_of), whole_of(node.expression, value_of)],
        _STRING,
        value_of.guard,
    )


def _trim(node: exp.Expr, value_of: Compile) -> Value:
    value, marks = text_of(node.this, value_of), node.args.get("expression")
    signs = " " if marks is None else value_of(marks).constant
    if not isinstance(signs, str):
        raise refused(node)
    where = (node.args.get("position") or "BOTH").upper()
    if not signs:
        return value
    strip = {"LEADING": "strip_chars_start", "TRAILING": "strip_chars_end"}.get(where, "strip_chars")
    return Value(getattr(value.expr.str, strip)(signs), _STRING)


def _like(node: exp.Expr, value_of: Compile) -> Value:
    escape = "\\"
    if isinstance(node, exp.Escape):
        escape, node = constant_text(node.expression, node), node.this
    value, pattern = text_of(node.this, value_of), value_of(node.expression)
    lowered = isinstance(node, exp.ILike)
    if node.args.get("negate"):
        plain = node.copy()
        plain.set("negate", None)
        whole = exp.Escape(this=plain, expression=exp.Literal.string(escape)) if escape != "\\" else plain
        return Value(~_like(whole, value_of).expr, _BOOLEAN)
    if isinstance(pattern.constant, str):
        written = pattern.constant.lower() if lowered else pattern.constant
        subject = value.expr.str.to_lowercase() if lowered else value.expr
        return Value(subject.str.contains(_like_pattern(written, escape, node, re.escape)), _BOOLEAN)
    if lowered:
        raise refused(node)
    return call(lambda text, like: _matches(text, like, escape, node), [value, pattern], _BOOLEAN, value_of.guard)


def _like_pattern(pattern: str, escape: str, node: exp.Expr, quote: Callable[[str], str]) -> str:
    mistake = find_like_mistake(pattern, escape)
    if mistake:
        raise refused(f"{node.sql('databricks')}: {mistake}")
    out, at = [], 0
    while at < len(pattern):
        char = pattern[at]
        if char == escape:
            at += 1
            out.append(quote(pattern[at]))
        else:
            out.append({"%": ".*", "_": "."}.get(char) or quote(char))
        at += 1
    return "(?s)^" + "".join(out) + "$"


def _matches(text: str, pattern: str, escape: str, node: exp.Expr) -> bool:
    return re.fullmatch(_like_pattern(pattern, escape, node, re.escape)[:-1].replace("(?s)^", "(?s)"), text) is not None


def _replace(node: exp.Expr, value_of: Compile) -> Value:
    old, new = node.expression, node.args.get("replacement")
    parts = [text_of(node.this, value_of), text_of(old, value_of)]
    parts.append(text_of(new, value_of) if new is not None else lit("", _STRING))
    if isinstance(parts[1].constant, str) and isinstance(parts[2].constant, str) and parts[1].constant:
        return Value(parts[0].expr.str.replace_all(parts[1].constant, parts[2].constant, literal=True), _STRING)
    return call(lambda text, a, b: text.replace(a, b) if a else text, parts, _STRING, value_of.guard)


def _position(node: exp.Expr, value_of: Compile) -> Value:
    parts = [text_of(node.this, value_of), text_of(node.args["substr"], value_of)]
    start = node.args.get("position")
    parts.append(whole_of(start, value_of) if start is not None else lit(1, _INT))
    if node.args.get("occurrence") is not None:
        raise refused(node)
    found = call(_find, parts, _INT, value_of.guard)
    if start is None or parts[2].constant is not None:
        return found
    return Value(pl.when(parts[2].expr.is_null()).then(pl.lit(0, _INT)).otherwise(found.expr), _INT)


def _find(text: str, part: str, at: int) -> int:
    """Nothing is found at once, wherever the search begins."""
    return 0 if at <= 0 else 1 if not part else text.find(part, at - 1) + 1


def _pad(node: exp.Expr, value_of: Compile) -> Value:
    fill = node.args.get("fill_pattern")
    parts = [text_of(node.this, value_of), whole_of(node.expression, value_of)]
    parts.append(text_of(fill, value_of) if fill is not None else lit(" ", _STRING))
    left = bool(node.args.get("is_left"))

    def padded(text: str, size: int, signs: str) -> str:
        missing = max(size, 0) - len(text)
        if missing <= 0 or not signs:
            return text[: max(size, 0)]
        made = (signs * (missing // len(signs) + 1))[:missing]
        return made + text if left else text + made

    return call(padded, parts, _STRING, value_of.guard)


def _split_part(text: str, mark: str, number: int) -> str | None:
    parts = text.split(mark) if mark else [text]
    at = number - 1 if number > 0 else len(parts) + number
    return parts[at] if number and 0 <= at < len(parts) else ""


def _translate(text: str, old: str, new: str) -> str:
    table: dict[int, str | None] = {}
    for place, char in enumerate(old):
        table.setdefault(ord(char), new[place] if place < len(new) else None)
    return text.translate(table)


def _chr(number: int) -> str:
    return "" if number < 0 else chr(number % 256)


def _hash(name: str) -> Callable[[str], str]:
    return lambda text: hashlib.new(name, text.encode()).hexdigest()


def _hex(node: exp.Expr, value_of: Compile) -> Value:
    value = value_of(node.this)
    if value.type not in (pl.Binary, pl.String):
        raise refused(node)
    return Value(value.expr.cast(pl.Binary).bin.encode("hex").str.to_uppercase(), _STRING)


def _sha2(node: exp.Expr, value_of: Compile) -> Value:
    length = node.args.get("length")
    bits = 256 if length is None else value_of(length).constant
    if not isinstance(bits, int):
        raise refused(node)
    return call(lambda text: sha2(text, bits), [text_of(node.this, value_of)], _STRING, value_of.guard)


def _test(name: str) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        value, part = text_of(node.this, value_of), text_of(node.expression, value_of)
        if name == "contains":
            return Value(value.expr.str.contains(part.expr, literal=True), _BOOLEAN)
        return Value(getattr(value.expr.str, name)(part.expr), _BOOLEAN)

    return compiled


def _length(node: exp.Expr, value_of: Compile) -> Value:
    value = value_of(node.this)
    if value.type == pl.Binary:
        return Value(value.expr.bin.size().cast(_INT), _INT)
    return Value(to_text(value, value_of.guard).expr.str.len_chars().cast(_INT), _INT)


def _reverse(node: exp.Expr, value_of: Compile) -> Value:
    value = value_of(node.this)
    if isinstance(value.type, pl.List):
        return Value(value.expr.list.reverse(), value.type)
    return call(lambda text: text[::-1], [to_text(value, value_of.guard)], _STRING, value_of.guard)


def _repeat(text: str, times: int) -> str:
    return text * max(times, 0)


def _space(node: exp.Expr, value_of: Compile) -> Value:
    return call(lambda size: " " * max(size, 0), [whole_of(node.this, value_of)], _STRING, value_of.guard)


def _btrim(node: exp.Expr, value_of: Compile) -> Value:
    this, *marks = node.expressions
    return value_of(exp.Trim(this=this.copy(), expression=marks[0].copy() if marks else None))


def _of_chr(node: exp.Expr, value_of: Compile) -> Value:
    number = whole_of(node.expressions[0] if node.expressions else node.this, value_of)
    if is_null(number.type):
        return null(_STRING)
    return call(_chr, [number], _STRING, value_of.guard)


def _cased(function: Callable[[pl.Expr], pl.Expr]) -> Handler:
    """Of `upper(lower(x))` Spark's optimizer keeps the outer function only, which is another text for `ß`."""

    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        inner = node.this.unnest()
        while isinstance(inner, (exp.Upper, exp.Lower)):
            inner = inner.this.unnest()
        return Value(function(text_of(inner, value_of).expr), _STRING)

    return compiled


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Upper: _cased(lambda x: x.str.to_uppercase()), exp.Lower: _cased(lambda x: x.str.to_lowercase()),
    exp.Initcap: _python(initcap, ("this",)), exp.Length: _length, exp.Concat: _concat, exp.DPipe: _pipe,
    exp.ConcatWs: _concat_ws, exp.Substring: _substring, exp.Left: _left, exp.Right: _right, exp.Trim: _trim,
    exp.Like: _like, exp.ILike: _like, exp.Escape: _like, exp.Replace: _replace,
    exp.StrPosition: _position, exp.Pad: _pad, exp.Reverse: _reverse,
    exp.SubstringIndex: _python(substring_index, ("this", "delimiter", "count")),
    exp.SplitPart: _python(_split_part, ("this", "delimiter", "part_index")),
    exp.Levenshtein: _python(levenshtein, ("this", "expression"), _INT),
    exp.Translate: _python(_translate, ("this", "from_", "to")), exp.Repeat: _python(_repeat, ("this", "times")),
    exp.Ascii: _python(lambda text: ord(text[0]) if text else 0, ("this",), _INT), exp.Chr: _of_chr,
    exp.Space: _space, exp.StartsWith: _test("starts_with"), exp.EndsWith: _test("ends_with"),
    exp.Contains: _test("contains"), exp.MD5: _python(_hash("md5"), ("this",)),
    exp.SHA: _python(_hash("sha1"), ("this",)), exp.SHA2: _sha2, exp.Hex: _hex,
    exp.ToBase64: _python(lambda text: base64.b64encode(text.encode()).decode(), ("this",)),
}  # fmt: skip
NAMED: dict[str, Handler] = {
    "BTRIM": _btrim,
    "OCTET_LENGTH": lambda node, value_of: Value(
        text_of(node.expressions[0], value_of).expr.str.len_bytes().cast(_INT), _INT
    ),
    "TRY_URL_DECODE": _python(url_decode, ("0",)),
    "CHAR": _of_chr,
}
