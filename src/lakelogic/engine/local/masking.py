"""Masking functions of engines in this process. The keys live in closures: no query, plan or error ever holds them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Callable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lakelogic.core.errors import RunError
from lakelogic.core.keys import MaskKeys
from lakelogic.plan.model import DECRYPT_FUNCTION, ENCRYPT_FUNCTION, ENCRYPT_SAME_FUNCTION, HMAC_FUNCTION

_PREFIX = "enc:"
_IV_BYTES = 12


def mask_calls(keys: MaskKeys) -> dict[str, tuple[Callable[..., object], tuple[str, ...], str]]:
    """The functions that the plan calls by name."""
    text = ("VARCHAR",)
    return {
        HMAC_FUNCTION: (_hmac(keys.hash), text, "VARCHAR"),
        ENCRYPT_FUNCTION: (_encrypt(keys.encrypt, lambda _: os.urandom(_IV_BYTES)), text, "VARCHAR"),
        ENCRYPT_SAME_FUNCTION: (_encrypt(keys.encrypt, _same_iv(keys.iv)), text, "VARCHAR"),
        DECRYPT_FUNCTION: (_decrypt(keys.encrypt), text, "VARCHAR"),
    }


def _hmac(key: bytes) -> Callable[[str], str]:
    return lambda text: hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _same_iv(key: bytes | None) -> Callable[[bytes], bytes]:
    return lambda plain: hmac.new(key or b"", plain, hashlib.sha256).digest()[:_IV_BYTES]


def _encrypt(key: bytes | None, choose_iv: Callable[[bytes], bytes]) -> Callable[[str], str]:
    def encrypt(text: str) -> str:
        if key is None:
            raise _no_key()
        plain = text.encode()
        iv = choose_iv(plain)
        return _PREFIX + base64.b64encode(iv + AESGCM(key).encrypt(iv, plain, None)).decode()

    return encrypt


def _decrypt(key: bytes | None) -> Callable[[str], str | None]:
    def decrypt(text: str) -> str | None:
        if key is None:
            raise _no_key()
        if not text.startswith(_PREFIX):
            return None
        try:
            sealed = base64.b64decode(text[len(_PREFIX) :], validate=True)
            return AESGCM(key).decrypt(sealed[:_IV_BYTES], sealed[_IV_BYTES:], None).decode()
        except (binascii.Error, InvalidTag, ValueError):
            return None

    return decrypt


def _no_key() -> RunError:
    return RunError("encryption needs a key", hint="set LAKELOGIC_PII_KEY")
