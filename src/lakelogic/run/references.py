"""Links that several contracts of a pipeline run read: read once, and the same rows for all of them.

Whoever reads a shared link first has its engine keep it, as it is then: a link that a contract of the run writes is
read after that one's commit, because the graph puts its readers there. The others wait, and read what was kept.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from loguru import logger

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import CapabilityError, LakeLogicError
from lakelogic.core.settings import Settings
from lakelogic.engine.protocol import Engine, KeepsLinks, KeptLink
from lakelogic.plan.model import LinkRead
from lakelogic.run.places import find_places, link_path
from lakelogic.source.tables import find_version

_Key = tuple[str, str, str, tuple[tuple[str, str], ...], tuple[str, ...]]
_HEADERLESS = ("csv", "text")  # the columns of a link may be the names that its file does not have


@dataclass(frozen=True, slots=True)
class Shared:
    """A path that several links read, and which of its columns they need; None: all."""

    columns: tuple[str, ...] | None
    writers: frozenset[str] = frozenset()  # datasets of the run that write it


def find_shared(contracts: Iterable[Contract], settings: Settings) -> dict[str, Shared]:
    """The paths that are read more than once."""
    readers: dict[str, list[tuple[tuple[str, ...], bool]]] = {}
    writers: dict[str, set[str]] = {}
    for contract in contracts:
        target = find_places(contract, settings).target
        if target is not None:
            writers.setdefault(target.path, set()).add(contract.dataset)
        for link in contract.links:
            path = link_path(contract, settings, link.path or "")
            readers.setdefault(path, []).append((link.columns, link.filter is not None))
    return {
        path: Shared(_columns(found), frozenset(writers.get(path, ())))
        for path, found in readers.items()
        if len(found) > 1
    }


def _columns(readers: list[tuple[tuple[str, ...], bool]]) -> tuple[str, ...] | None:
    # A filter may ask for columns that the link does not give.
    if any(filtered or not columns for columns, filtered in readers):
        return None
    return tuple(dict.fromkeys(name for columns, _ in readers for name in columns))


@dataclass(slots=True)
class _Place:
    """One kept link, and the lock of whoever is keeping it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    kept: KeptLink | None = None


class ReferenceCache:
    """The kept links of one pipeline run; used by all its threads, closed when the last of them is done."""

    def __init__(self, shared: Mapping[str, Shared]) -> None:
        self._shared = shared
        self._places: dict[_Key, _Place] = {}
        self._lock = threading.Lock()
        self._folder: Path | None = None

    def keep(self, engine: Engine, dataset: str, link: LinkRead) -> LinkRead:
        """The link as it is to be read: what was kept of it, or itself where nobody else reads it."""
        shared = self._shared.get(link.path)
        if shared is None or dataset in shared.writers:
            return link  # whoever reads its own table sees it before the commit that the others are to see
        if not isinstance(engine, KeepsLinks):
            raise CapabilityError(
                f"engine `{engine.name}` cannot cache references", hint="run it without --cache-references"
            )
        place = self._place(_key(engine, link))
        with place.lock:
            if place.kept is None:
                logger.info(f"Reading link `{link.name}` once for all contracts of the run")
                # A part of it that must be read again, because a machine was lost, is read from the same version.
                version = find_version(link.path) if link.format == "delta" else None
                whole = replace(link, columns=_kept_columns(link, shared), broadcast=False, version=version)
                place.kept = engine.keep_link(whole, self._scratch())
        kept = place.kept.link
        return replace(link, path=kept.path, format=kept.format, options=kept.options)

    def close(self) -> None:
        """Let go of all that was kept; that something cannot be let go of is no failure of the run."""
        for place in self._places.values():
            if place.kept is not None:
                _release(place.kept.release)
        self._places.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _place(self, key: _Key) -> _Place:
        with self._lock:
            return self._places.setdefault(key, _Place())

    def _scratch(self) -> str:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="lakelogic-references-"))
            return str(self._folder)


def _key(engine: Engine, link: LinkRead) -> _Key:
    names = link.columns if link.format in _HEADERLESS else ()
    return (engine.name, link.path, link.format or "", tuple(sorted(link.options.items())), names)


def _kept_columns(link: LinkRead, shared: Shared) -> tuple[str, ...]:
    return link.columns if link.format in _HEADERLESS else shared.columns or ()


def _release(release: Callable[[], None]) -> None:
    with suppress(LakeLogicError):
        release()
