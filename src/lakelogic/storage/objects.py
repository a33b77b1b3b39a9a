"""Object stores through obstore, which is built on the same library as delta-rs and takes the same options."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, BinaryIO, Literal, cast

from lakelogic.core.errors import RunError
from lakelogic.storage.address import Address, parse_address
from lakelogic.storage.resolver import find_credentials, short_reason, store_options

DENIED, UNREACHABLE = "LL471", "LL472"
# Long enough for a store that is busy, short enough that a wrong address is an error and not a wait.
_RETRIES: dict[str, Any] = {"max_retries": 5, "retry_timeout": timedelta(seconds=30)}
_CLIENT = {"connect_timeout": "5s", "timeout": "120s"}
_lock = threading.Lock()
_stores: dict[tuple[str, str, frozenset[tuple[str, str]]], Any] = {}

Tag = dict[str, Any]  # what a store says of one version of an object, to be handed back to it


def open_store(address: Address, *, patient: bool = True) -> Any:
    """The store of an address's bucket; `patient` false: one request is tried once."""
    options = store_options(address.root) or {}
    key = (address.cloud, f"{address.authority} {patient}", frozenset(options.items()))
    with _lock:
        if key not in _stores:
            _stores[key] = _make_store(address, options, patient=patient)
        return _stores[key]


def _make_store(address: Address, options: dict[str, str], *, patient: bool) -> Any:
    try:
        from obstore.store import AzureStore, GCSStore, S3Store
    except ModuleNotFoundError as error:
        raise missing_package(f"`{address.root}`", "obstore") from error
    classes = {"s3": S3Store, "gs": GCSStore, "azure": AzureStore}
    allow_http = options.pop("aws_allow_http", "false") == "true"
    client: dict[str, Any] = {**_CLIENT, "allow_http": allow_http}
    retries = _RETRIES if patient else {"max_retries": 0, "retry_timeout": timedelta(seconds=10)}
    if not patient:
        client["timeout"] = "10s"
    return classes[address.cloud](address.bucket, config=options, client_options=client, retry_config=retries)


def _library(path: str) -> Any:
    try:
        import obstore
    except ModuleNotFoundError as error:
        raise missing_package(f"`{parse_address(path).root}`", "obstore") from error
    return obstore


def missing_package(who: str, package: str) -> RunError:
    return RunError(
        f"{who} needs the package `{package}`, which is not installed",
        hint="pip install 'lakelogic[cloud]'",
        code="LL475",
    )


@contextmanager
def store_errors(path: str) -> Iterator[None]:
    """Translate what a store refuses into an error that says which credentials were tried, and never shows one."""
    from obstore.exceptions import (
        BaseError,
        GenericError,
        PermissionDeniedError,
        UnauthenticatedError,
    )

    try:
        yield
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise _denied(path) from error
    except GenericError as error:
        if _says_denied(error):
            raise _denied(path) from error
        raise RunError(
            f"`{parse_address(path).root}` cannot be reached: {short_reason(error)}",
            code=UNREACHABLE,
            hint=f"credentials: {find_credentials(parse_address(path)).describe()}",
            retryable=True,
        ) from error
    except BaseError as error:
        raise RunError(f"`{path}` cannot be used: {short_reason(error)}", code=UNREACHABLE, retryable=True) from error


def _says_denied(error: BaseException) -> bool:
    text = str(error)
    return any(
        word in text for word in ("AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "403 Forbidden")
    )


def _denied(path: str) -> RunError:
    address = parse_address(path)
    return RunError(
        f"`{address.root}` refuses the credentials that were found: {find_credentials(address).describe()}",
        code=DENIED,
        hint="docs/guides/cloud.md lists where credentials are looked for, and in which order",
    )


def check_access(paths: Iterable[str]) -> None:
    """Ask each bucket one question, so that wrong credentials are an error within seconds, before anything starts."""
    addresses = {parse_address(path).root: parse_address(path) for path in paths}
    for root, address in addresses.items():
        store = open_store(address, patient=False)
        with store_errors(root):
            next(iter(store.list(prefix=address.key or None, chunk_size=1)), None)


def find_object(path: str) -> Any | None:
    """What a store says of one object; None where there is none."""
    obstore = _library(path)
    from obstore.exceptions import NotFoundError

    address = parse_address(path)
    if not address.key:
        return None
    with store_errors(path):
        try:
            return obstore.head(open_store(address), address.key)
        except (NotFoundError, FileNotFoundError):
            return None


def list_objects(path: str) -> Iterator[Any]:
    """All objects below a folder, page by page, in the order of their keys."""
    obstore = _library(path)

    address = parse_address(path)
    with store_errors(path):
        for page in obstore.list(open_store(address), prefix=address.key or None):
            yield from page


def list_level(path: str) -> tuple[list[str], list[Any]]:
    """The folders and the objects directly in a folder."""
    obstore = _library(path)

    address = parse_address(path)
    with store_errors(path):
        found = obstore.list_with_delimiter(open_store(address), address.key or None)
    return list(found["common_prefixes"]), list(found["objects"])


def read_object(path: str) -> tuple[bytes, Tag] | None:
    """An object whole, with its tag; None where there is none."""
    obstore = _library(path)
    from obstore.exceptions import NotFoundError

    address = parse_address(path)
    with store_errors(path):
        try:
            got = obstore.get(open_store(address), address.key)
        except (NotFoundError, FileNotFoundError):
            return None
        return bytes(got.bytes()), _tag(got.meta)


def write_object(
    path: str, data: bytes | BinaryIO, *, over: Literal["anything", "nothing"] | Tag = "anything"
) -> Tag | None:
    """Put an object; over `nothing`, or over exactly the version of a tag, else None and nothing was written."""
    obstore = _library(path)
    from obstore.exceptions import AlreadyExistsError, NotFoundError, PreconditionError

    address = parse_address(path)
    mode: Any = {"anything": "overwrite", "nothing": "create"}[over] if isinstance(over, str) else over
    # A condition holds for a whole request; objects that need several are never written under one.
    whole = None if over == "anything" else False
    with store_errors(path):
        try:
            put = obstore.put(open_store(address), address.key, data, mode=mode, use_multipart=whole)
        except (AlreadyExistsError, PreconditionError, NotFoundError):
            return None
    return _tag(put)


def _tag(meta: Any) -> Tag:
    return {name: meta[name] for name in ("e_tag", "version") if meta.get(name)}


def delete_objects(path: str, keys: Iterable[str]) -> None:
    """Remove objects of a path's bucket; those that are gone already are no error."""
    obstore = _library(path)
    from obstore.exceptions import NotFoundError

    wanted = list(keys)
    if not wanted:
        return
    with store_errors(path):
        try:
            obstore.delete(open_store(parse_address(path)), wanted)
        except (NotFoundError, FileNotFoundError):
            return


def copy_object(path: str, source_key: str, target_key: str) -> None:
    """Copy an object within a path's bucket."""
    obstore = _library(path)

    with store_errors(path):
        obstore.copy(open_store(parse_address(path)), source_key, target_key)


def open_object(path: str) -> BinaryIO:
    """An object as a stream from its begin; one request, whatever its size."""
    obstore = _library(path)
    from obstore.exceptions import NotFoundError

    address = parse_address(path)
    with store_errors(path):
        try:
            chunks = obstore.get(open_store(address), address.key).stream()
        except (NotFoundError, FileNotFoundError) as error:
            raise FileNotFoundError(f"there is no object `{path}`") from error
    return cast(BinaryIO, io.BufferedReader(_Chunks(path, iter(chunks))))


class _Chunks(io.RawIOBase):
    """The chunks of an answer as a raw stream."""

    def __init__(self, path: str, chunks: Iterator[Any]) -> None:
        self._path, self._chunks, self._rest = path, chunks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            with store_errors(self._path):
                chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(bytes(chunk))
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def whole_seconds_ns(moment: datetime) -> int:
    """A store's time: listings may have fractions where single answers have none, so there are none here."""
    return int(moment.timestamp()) * 1_000_000_000


def forget_stores() -> None:
    """Close all connections; the next use opens them anew."""
    with _lock:
        _stores.clear()
