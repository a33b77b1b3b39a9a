"""The one place that says with which credentials an address is entered, for every library that enters it.

What a contract says under `credentials` is remembered for the process: everything below a run goes by path alone, and
Hadoop keeps one connection per bucket anyway.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import assert_never

from lakelogic.core.redaction import redact
from lakelogic.core.secrets import Secret
from lakelogic.storage.address import Address, is_remote, parse_address
from lakelogic.storage.aws import resolve_aws
from lakelogic.storage.azure import resolve_azure
from lakelogic.storage.credentials import Credentials, Given
from lakelogic.storage.google import resolve_google

_given: dict[tuple[str, str], Given] = {}


def remember_storage(path: str, values: Given) -> None:
    """Enter the bucket of a path with these values from now on; what they do not say is found as usual."""
    address = parse_address(path)
    _given[address.cloud, address.authority] = dict(values)


def forget_storage() -> None:
    """As if no contract had said anything."""
    _given.clear()


def find_credentials(address: Address, environ: Mapping[str, str] | None = None) -> Credentials:
    """The credentials of an address: the contract's, else those of the environment, a profile, the machine."""
    given = _given.get((address.cloud, address.authority), {})
    around = os.environ if environ is None else environ
    match address.cloud:
        case "s3":
            return resolve_aws(address, given, around)
        case "gs":
            return resolve_google(address, given, around)
        case "azure":
            return resolve_azure(address, given, around)
        case _:
            assert_never(address.cloud)


def store_options(path: str) -> dict[str, str] | None:
    """What delta-rs is to be told for a path; None for a local one."""
    if not is_remote(path):
        return None
    return _revealed(find_credentials(parse_address(path)).options)


def hadoop_options(paths: Iterable[str], *, explicit_only: bool) -> dict[str, str]:
    """What Spark is to be told for paths; `explicit_only`: a session that others started has its own way in."""
    found: dict[str, str] = {}
    for path in paths:
        if not is_remote(path):
            continue
        credentials = find_credentials(parse_address(path))
        if credentials.explicit or not explicit_only:
            found |= _revealed(credentials.hadoop)
    return found


def _revealed(values: Mapping[str, str | Secret]) -> dict[str, str]:
    return {name: value.reveal() if isinstance(value, Secret) else value for name, value in values.items()}


def short_reason(error: BaseException) -> str:
    """What a library says of a failure: its first line, without secrets, and not the whole answer of a server."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return redact(lines[0] if lines else type(error).__name__)[:300]
