"""Whether engines agree: one contract on several of them, each in a place of its own that is thrown away."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from lakelogic.contract.contract import Contract
from lakelogic.contract.materialization import Materialization
from lakelogic.core.clock import Clock, FixedClock, SystemClock
from lakelogic.core.errors import LakeLogicError, RunError
from lakelogic.core.settings import Settings
from lakelogic.core.slices import DatabaseSlice, FileSlice, StoredSlice, describe_slice
from lakelogic.core.versions import find_engine_version
from lakelogic.engine.registry import MISSING_PACKAGE, UNKNOWN_ENGINE
from lakelogic.record.journal import open_journal
from lakelogic.record.slice_json import encode_slice
from lakelogic.run.certificate import Certificate, EngineRun, Input
from lakelogic.run.places import find_places
from lakelogic.run.processor import DataProcessor
from lakelogic.run.verify_rows import compare_runs
from lakelogic.storage.address import is_remote
from lakelogic.storage.files import open_file, remove_tree

_CHUNK = 1 << 20
_NO_ENGINE = frozenset({UNKNOWN_ENGINE, MISSING_PACKAGE})


@dataclass(frozen=True, slots=True)
class Verifying:
    """How a contract is verified."""

    engines: tuple[str, ...]
    settings: Settings
    shown_rows: int = 5
    allow_refusals: bool = False
    scratch: str | None = None  # where the throw-away tables lie; None: the temporary folder
    master: str | None = None
    remote: str | None = None
    spark: Any = None  # the caller's own session
    clock: Clock = field(default_factory=SystemClock)
    on_phase: Callable[[str], None] = lambda phase: None


def verify_contract(contract: Contract, how: Verifying) -> Certificate:
    """Run a contract on every engine from nothing, and compare what came of it; no table of the contract is touched.

    Raises what all engines raise where none of them can carry it out.
    """
    _check_engines(how.engines)
    # One moment for all of them: a value that is made of the time is then the same.
    how = replace(how, clock=FixedClock(how.clock.now()))
    with _scratch(how.scratch) as folder:
        runs = tuple(_run(contract, engine, f"{folder}/{engine}", how) for engine in how.engines)
        errors = [run.error for run in runs if run.error is not None]
        if len(errors) == len(runs):
            raise errors[0]
        read = _same_input(runs)
        how.on_phase("comparing")
        compared = compare_runs(contract, [run for run in runs if run.error is None], how.settings, how.shown_rows)
    return Certificate(
        str(contract.file), contract.dataset, contract.version, _digest_file(str(contract.file)), read, runs,
        compared.rows, compared.differences, how.allow_refusals,
    )  # fmt: skip


def _check_engines(engines: Sequence[str]) -> None:
    if len(set(engines)) < 2 or len(set(engines)) != len(engines):
        raise RunError(
            "at least two different engines are needed to compare them",
            code="LL477",
            hint="such as --engines duckdb,polars",
        )
    if find_engine_version("duckdb") is None:
        raise RunError(
            "results are compared with the package `duckdb`, which is not installed",
            code=MISSING_PACKAGE,
            hint="pip install 'lakelogic[duckdb]'",
        )


@contextmanager
def _scratch(given: str | None) -> Iterator[str]:
    """A folder that only its owner can look into, and that is gone afterwards."""
    if given is None:
        with tempfile.TemporaryDirectory(prefix="lakelogic-verify-") as folder:
            yield folder
        return
    root = given if is_remote(given) else os.path.abspath(given)
    folder = f"{root.rstrip('/')}/lakelogic-verify-{uuid.uuid4().hex[:8]}"
    try:
        yield folder
    finally:
        remove_tree(folder)


def _run(contract: Contract, engine: str, folder: str, how: Verifying) -> EngineRun:
    how.on_phase(f"running on {engine}")
    begun = time.monotonic()
    moved = _moved(contract, folder)
    # The state of the operator's own runs is not looked at, and all of the input is one batch.
    settings = replace(how.settings, state=None, max_files_per_batch=None)
    spark = how.spark if engine == "spark" else None
    try:
        with DataProcessor(
            moved, engine, spark, master=how.master, remote=how.remote, settings=settings, clock=how.clock
        ) as processor:
            result = processor.run()
    except LakeLogicError as error:
        if not _is_answer(error):
            raise
        return EngineRun(engine, find_engine_version(engine), error=error, seconds=time.monotonic() - begun)
    places = find_places(moved, settings)
    assert places.target is not None and places.quarantine is not None and places.control is not None
    journal = open_journal(places.control)
    batch = journal.newest()
    return EngineRun(
        engine, find_engine_version(engine), result, target=places.target.path, quarantine=places.quarantine.path,
        slice=batch.slice if batch else None, fingerprint=batch.fingerprint if batch else None,
        seconds=time.monotonic() - begun,
    )  # fmt: skip


def _is_answer(error: LakeLogicError) -> bool:
    """Whether an error says something about contract and engine, not that there is no such engine here."""
    return error.problem.code not in _NO_ENGINE


def _moved(contract: Contract, folder: str) -> Contract:
    """The contract with other places, and without what reaches beyond its own tables: views, and waiting for others."""
    written = contract.materialization or Materialization()
    upstream = tuple(each.model_copy(update={"freshness": None}) for each in contract.upstream)
    return contract.model_copy(
        update={
            "materialization": written.model_copy(update={"target_path": f"{folder}/target"}),
            "quarantine": contract.quarantine.model_copy(update={"target_path": f"{folder}/quarantine"}),
            "upstream": upstream,
            "views": (),
        }
    )


def _same_input(runs: Sequence[EngineRun]) -> Input:
    """What was read; raises where engines did not find the same, which says nothing about them."""
    read = [run.slice for run in runs if run.error is None]
    if any(_identity(each) != _identity(read[0]) for each in read):
        raise RunError(
            "the source changed between the runs, so that their results cannot be compared",
            code="LL478",
            hint="verify again while nothing is written to it, or a copy of it",
            retryable=True,
        )
    return Input(describe_slice(read[0]), _digest(read[0])) if read[0] is not None else Input("nothing", "")


def _identity(slice_: StoredSlice | None) -> str:
    if isinstance(slice_, DatabaseSlice) and slice_.bounds is not None:
        # The files that list its rows lie beside each journal.
        slice_ = replace(slice_, bounds=replace(slice_.bounds, listed=None, seen=None))
    return encode_slice(slice_) if slice_ is not None else ""


def _digest(slice_: StoredSlice) -> str:
    """Of files on disk the content, so that the same input has the same digest elsewhere; else what tells it apart."""
    told = _identity(slice_)
    if isinstance(slice_, FileSlice) and not any(is_remote(file.path) for file in slice_.files):
        told = "\n".join(sorted(f"{os.path.basename(f.path)} {_digest_file(f.path)}" for f in slice_.files))
    return f"sha256:{hashlib.sha256(told.encode()).hexdigest()}"


def _digest_file(path: str) -> str:
    found = hashlib.sha256()
    with open_file(path) as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return f"sha256:{found.hexdigest()}"
