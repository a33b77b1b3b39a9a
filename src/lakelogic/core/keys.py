"""Keys for masking, derived from one secret; they never show themselves."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

# Without a secret a hash is still salted, so that it is not a plain SHA-256 of a guessable value,
# but anyone who reads this line can rebuild it: the run warns about that.
PUBLIC_SALT = b"lakelogic/public-salt/v1"


@dataclass(frozen=True, slots=True)
class MaskKeys:
    """One key per use, so that a hash never reveals anything about a cipher text."""

    hash: bytes = field(repr=False)
    encrypt: bytes | None = field(repr=False, default=None)  # random and deterministic encryption
    iv: bytes | None = field(repr=False, default=None)  # chooses the iv of deterministic encryption

    @property
    def secret(self) -> bool:
        return self.encrypt is not None


def derive_keys(secret: str | None) -> MaskKeys:
    """Derive 32-byte keys from the secret (LAKELOGIC_PII_KEY), or only a salted hash key without one."""
    if not secret:
        return MaskKeys(hash=PUBLIC_SALT)
    master = secret.encode()
    return MaskKeys(hash=_derive(master, b"hash"), encrypt=_derive(master, b"encrypt"), iv=_derive(master, b"iv"))


def _derive(master: bytes, use: bytes) -> bytes:
    return hmac.new(master, b"lakelogic/v1/" + use, hashlib.sha256).digest()
