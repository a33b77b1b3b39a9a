"""Masking in Spark's own functions, with keys that no plan, page or log can show.

Literals stand in plans, so the keys come in as a one-row relation: a plan shows its column names only,
and the optimizer cannot fold a scalar subquery into a literal.
"""

from __future__ import annotations

import hashlib
import warnings
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from lakelogic.core.errors import RunError
from lakelogic.core.keys import MaskKeys
from lakelogic.engine.spark.relations import Relations
from lakelogic.plan.model import DECRYPT_FUNCTION, ENCRYPT_FUNCTION, ENCRYPT_SAME_FUNCTION, HMAC_FUNCTION

_Tree = TypeVar("_Tree", bound=exp.Expr)

KEYS_RELATION = "lakelogic_keys"
_PREFIX = "enc:"
_BLOCK = 64  # bytes of a SHA-256 block
_IV = 12  # bytes
_FUNCTIONS = {HMAC_FUNCTION, ENCRYPT_FUNCTION, ENCRYPT_SAME_FUNCTION, DECRYPT_FUNCTION}
_NEED_SECRET = _FUNCTIONS - {HMAC_FUNCTION}


def apply_masking(tree: _Tree, keys: MaskKeys, relations: Relations) -> _Tree:
    """Replace our masking functions by Spark's; the keys become a relation of this call."""
    calls = {_name(node) for node in tree.find_all(exp.Anonymous)} & _FUNCTIONS
    if not calls:
        return tree
    if calls & _NEED_SECRET and not keys.secret:
        raise RunError("encryption needs a key", hint="set LAKELOGIC_PII_KEY", code="LL470")
    if KEYS_RELATION not in relations.names:
        relations.add(KEYS_RELATION, _keys_frame(relations.spark, keys))
    masked: _Tree = tree.transform(_rewrite)  # type: ignore[assignment]  # a query stays the query it was
    return masked


def _rewrite(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Anonymous) or _name(node) not in _FUNCTIONS:
        return node
    text = node.expressions[0]
    match _name(node):
        case name if name == HMAC_FUNCTION:
            return _hmac(text, "hash")
        case name if name == ENCRYPT_FUNCTION:
            return _sealed(_call("aes_encrypt", _bytes(text), _key("encrypt"), _text("GCM")))
        case name if name == ENCRYPT_SAME_FUNCTION:
            iv = _call("substring", _call("unhex", _hmac(text, "iv")), _number(1), _number(_IV))
            return _sealed(_call("aes_encrypt", _bytes(text), _key("encrypt"), _text("GCM"), _text("DEFAULT"), iv))
        case _:
            return _opened(text)


def _hmac(text: exp.Expr, use: str) -> exp.Expr:
    inner = _sha256(_call("concat", _key(f"{use}_inner"), _bytes(text)))
    return _sha256(_call("concat", _key(f"{use}_outer"), _call("unhex", inner)))


def _sealed(cipher: exp.Expr) -> exp.Expr:
    # Spark breaks base64 into lines of 76 characters unless told otherwise by a setting of the session.
    text = _call("replace", _call("base64", cipher), _text("\r\n"), _text(""))
    return _call("concat", _text(_PREFIX), text)


def _opened(text: exp.Expr) -> exp.Expr:
    encoded = _call("substring", text.copy(), _number(len(_PREFIX) + 1))
    cipher = _call("try_to_binary", encoded, _text("base64"))
    plain = _call("try_aes_decrypt", cipher, _key("encrypt"), _text("GCM"))
    shown = _call("try_validate_utf8", exp.cast(plain, "string", dialect="spark"))
    return exp.Case().when(_call("startswith", text.copy(), _text(_PREFIX)), shown)


def _keys_frame(spark: SparkSession, keys: MaskKeys) -> DataFrame:
    columns = {**_pads("hash", keys.hash)}
    if keys.encrypt is not None and keys.iv is not None:
        columns |= {"encrypt": keys.encrypt, **_pads("iv", keys.iv)}
    table = pa.table({name: pa.array([value], pa.binary()) for name, value in columns.items()})
    with warnings.catch_warnings():
        # PySpark looks at the version of pandas here, although none is used.
        warnings.simplefilter("ignore", FutureWarning)
        return spark.createDataFrame(table)


def _pads(use: str, key: bytes) -> dict[str, bytes]:
    """The two padded keys of HMAC (RFC 2104), so that Spark only has to concatenate and hash."""
    block = (hashlib.sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    return {f"{use}_inner": bytes(b ^ 0x36 for b in block), f"{use}_outer": bytes(b ^ 0x5C for b in block)}


def _key(column: str) -> exp.Expr:
    return exp.select(exp.column(column, quoted=True)).from_(exp.to_table(KEYS_RELATION)).subquery()


def _name(node: exp.Anonymous) -> str:
    return node.name.upper()


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    # Anonymous: sqlglot writes it as it stands.
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def _sha256(value: exp.Expr) -> exp.Expr:
    return _call("sha2", value, _number(256))


def _bytes(text: exp.Expr) -> exp.Expr:
    as_text = exp.cast(text.copy(), "string", dialect="spark")
    return exp.Cast(this=as_text, to=exp.DataType.build("binary", dialect="spark"))


def _text(value: str) -> exp.Literal:
    return exp.Literal.string(value)


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)
