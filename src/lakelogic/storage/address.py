"""Addresses of object stores: which cloud, which bucket, which key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from lakelogic.core.errors import CapabilityError, PlanError

Cloud = Literal["s3", "gs", "azure"]

SCHEMES: Mapping[str, Cloud] = {"s3": "s3", "s3a": "s3", "gs": "gs", "abfss": "azure", "abfs": "azure"}
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://([^/]*)/*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Address:
    """A place in a bucket (S3, Google) or in a container of an account (Azure)."""

    scheme: str
    cloud: Cloud
    authority: str  # `bucket`, or `container@account.dfs.core.windows.net`
    key: str

    @property
    def bucket(self) -> str:
        return self.authority.split("@")[0]

    @property
    def host(self) -> str:
        """The host of an Azure account; empty elsewhere."""
        return self.authority.partition("@")[2]

    @property
    def account(self) -> str:
        return self.host.split(".")[0]

    @property
    def root(self) -> str:
        return f"{self.scheme}://{self.authority}"


def is_remote(path: str) -> bool:
    """Whether a path is the address of something that is not a local disk."""
    found = _ADDRESS.fullmatch(path)
    return found is not None and found.group(1).lower() != "file"


def parse_address(path: str) -> Address:
    """The parts of an address; schemes of no store that we know are refused."""
    found = _ADDRESS.fullmatch(path)
    cloud = SCHEMES.get(found.group(1).lower()) if found else None
    if found is None or cloud is None:
        raise CapabilityError(
            f"`{path}` is not in a store that LakeLogic knows",
            code="LL314",
            hint=f"give a local path or one of: {', '.join(f'{scheme}://' for scheme in SCHEMES)}",
        )
    scheme, authority, key = found.groups()
    if not authority or (cloud == "azure") != ("@" in authority):
        form = (
            "abfss://container@account.dfs.core.windows.net/folder" if cloud == "azure" else f"{scheme}://bucket/folder"
        )
        raise PlanError(f"`{path}` is not an address", code="LL315", hint=f"write {form}")
    return Address(scheme.lower(), cloud, authority, key.rstrip("/"))
