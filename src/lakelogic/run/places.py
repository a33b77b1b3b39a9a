"""Where everything of one run lies: source, target, quarantine, journal, run log."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, replace

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import CapabilityError, PlanError
from lakelogic.core.settings import Settings
from lakelogic.storage.address import is_remote, parse_address
from lakelogic.storage.resolver import remember_storage
from lakelogic.table.location import (
    control_folder,
    is_catalog_name,
    refuse_folder,
    resolve_location,
    resolve_quarantine,
    state_folder,
)
from lakelogic.table.protocol import TableLocation


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of a run; without a target a run only checks, and the rest is not there either."""

    source: str | None
    target: TableLocation | None
    quarantine: TableLocation | None
    control: str | None  # journal and lock of the dataset
    state: str | None  # run log


def find_places(
    contract: Contract, settings: Settings, *, source: str | None = None, catalogs: Collection[str] = ()
) -> Places:
    """Resolve the paths of a contract; `source` is a path given by the caller, relative to the working directory."""
    for entry in contract.credentials:
        # Everything below goes by path alone, so that what opens a path is known before the first one is opened.
        remember_storage(entry.path, entry.values)
    base = str(settings.root or contract.folder)
    warehouse = _warehouse(settings, base)
    read_from = _source_path(contract, source, base, warehouse)
    if contract.materialization is None or contract.materialization.target_path is None:
        return Places(read_from, None, None, None, None)
    start = _start_of(contract, "materialization.target_path", base)
    target = resolve_location(contract.materialization.target_path, base=start, warehouse=warehouse, catalogs=catalogs)
    declared = contract.quarantine.target_path
    quarantine = resolve_quarantine(
        target,
        declared,
        base=_start_of(contract, "quarantine.target_path", base) if declared else base,
        warehouse=warehouse,
        catalogs=catalogs,
    )
    if contract.materialization.format == "parquet":
        _refuse_parquet(contract, target.path)
        # What readers see is a link that changes as a whole; files are made ready beside it.
        parent, name = os.path.split(target.path.rstrip("/"))
        target = replace(target, staging=os.path.join(parent, f".{name}.versions"))
    places = Places(
        read_from,
        target,
        quarantine,
        control_folder(target, contract.dataset, state=settings.state),
        state_folder(target, state=settings.state),
    )
    for path in (target.path, quarantine.path):
        _refuse_bucket(path)
    for folder in (target.path, quarantine.path, places.control):
        refuse_folder(folder or "")
    return places


def link_path(contract: Contract, settings: Settings, path: str) -> str:
    base = str(settings.root or contract.folder)
    return _absolute(path, base, _warehouse(settings, base))


def all_paths(contract: Contract, settings: Settings) -> tuple[str, ...]:
    """Every path that a run of the contract may touch; each once."""
    places = find_places(contract, settings)
    tables = [location.path for location in (places.target, places.quarantine) if location is not None]
    links = [link_path(contract, settings, link.path) for link in contract.links if link.path]
    found = (places.source, *tables, places.control, places.state, *links)
    return tuple(dict.fromkeys(path for path in found if path is not None))


def _warehouse(settings: Settings, base: str) -> str:
    return settings.warehouse or f"{base.rstrip('/')}/lakehouse"


def _refuse_bucket(path: str) -> None:
    """A table needs a folder: its records and its quarantine lie beside it."""
    if is_remote(path) and not parse_address(path).key:
        raise PlanError(f"`{path}` is a whole bucket", code="LL358", hint=f"give the table a folder: {path}/name")


def _refuse_parquet(contract: Contract, path: str) -> None:
    if is_remote(path):
        raise CapabilityError(
            "plain Parquet cannot be kept on an object store: its commit is a link that changes in one step",
            where=contract.at("materialization.format"),
            hint="use `format: delta`",
        )


def _source_path(contract: Contract, given: str | None, base: str, warehouse: str) -> str | None:
    if given is not None:
        return _absolute(given, os.getcwd(), warehouse)
    if contract.source is None or contract.source.path is None:
        return None
    return _absolute(contract.source.path, _start_of(contract, "source.path", base), warehouse)


def require_source(places: Places, contract: Contract) -> str:
    if places.source is None:
        raise PlanError(
            "the contract does not say where its rows come from",
            where=contract.at("source"),
            hint="set source.path, or pass a path or frame: run_source(path), run_dataframe(df)",
            code="LL322",
        )
    return places.source


def _start_of(contract: Contract, path: str, base: str) -> str:
    """What a relative path starts from: the contract's folder, or the working directory if it came from there."""
    return os.getcwd() if contract.origin(path) == "--set" else base


def _absolute(path: str, base: str, warehouse: str) -> str:
    if is_catalog_name(path) or path.startswith("table:"):
        return resolve_location(path, base=base, warehouse=warehouse).path
    if "://" in path:
        return path
    if is_remote(base) and not path.startswith(("/", "~")):
        return f"{base.rstrip('/')}/{os.path.normpath(path)}"
    return os.path.normpath(os.path.join(os.path.abspath(base), os.path.expanduser(path)))
