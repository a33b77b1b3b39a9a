"""Going on with the last pipeline run: which one it was, whether the same is asked for, and what of it is done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from loguru import logger

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import ContractError, Problem
from lakelogic.core.settings import Settings
from lakelogic.core.window import Window
from lakelogic.driver.graph import Dag
from lakelogic.driver.load_many import Wanted
from lakelogic.driver.outcome import GOOD
from lakelogic.driver.select import Selection
from lakelogic.driver.state import PipelineState
from lakelogic.driver.worker import Request
from lakelogic.record.journal import open_journal
from lakelogic.record.run_log import RunRecord, Status, read_runs
from lakelogic.run.places import find_places

DONE_BEFORE = "done before, in the same pipeline run"


@dataclass(frozen=True, slots=True)
class Resumed:
    """A pipeline run that is gone on with."""

    run_id: str
    started_at: datetime  # `yesterday` means the same day as when it began
    done: Mapping[str, Status] = field(default_factory=dict)
    windows: Mapping[str, tuple[Window, ...]] = field(default_factory=dict)  # of a backfill, those that are done


def describe_request(request: Request, chosen: Selection, loading: Wanted) -> dict[str, str]:
    """What two runs must have in common for one to go on with the other; values of `--set` as a digest only."""
    span = request.span
    told = {
        "--window": "" if request.backfill else request.window,
        "dates": f"{span.first} to {span.last or span.first}" if span else "",
        "--backfill-granularity": request.backfill or "",
        "--fill-gaps": "yes" if request.only_gaps else "",
        "--env": loading.env or "",
        "--stage": loading.stage or "",
        "--policy-pack": " ".join(loading.packs.names),
        "--set": _digest(loading.overrides) if loading.overrides else "",
        **{f"--{name}": " ".join(getattr(chosen, name)) for name in ("select", "exclude", "layers", "entities")},
    }
    return {name: value for name, value in told.items() if value}


def default_path(dag: Dag, chosen: Selection, files: Iterable[str]) -> str | None:
    """Where the state is kept unless the caller says so: beside the run log, one file for each estate and selection."""
    folders = [dag.tables[name].state for name in sorted(dag.members) if name in dag.tables]
    folder = next((each for each in folders if each is not None), None)
    words = [chosen.select, chosen.exclude, chosen.layers, chosen.entities]
    return f"{folder}/pipelines/{_digest([sorted(files), words])}.json" if folder else None


def resume(
    state: PipelineState | None, asked: Mapping[str, str], contracts: Mapping[str, Contract], settings: Settings
) -> Resumed | None:
    """What is left of the last run, or None where there is nothing to go on with: then all of it runs."""
    if state is None or state.status == "succeeded":
        why = "there was none" if state is None else f"all of run {state.run_id} is done"
        logger.info(f"No pipeline run to resume ({why}): a new one begins")
        return None
    _refuse_another(state, asked)
    logged = _logged(state.run_id, contracts, settings)
    done: dict[str, Status] = {}
    for name, each in state.contracts.items():
        if name in contracts and each.status in GOOD:
            done[name] = "succeeded" if each.status == "succeeded" else "no_new_data"
    windows: dict[str, tuple[Window, ...]] = {}
    for name, records in logged.items():
        if "--backfill-granularity" in asked:
            windows[name] = tuple(found for record in records if (found := _window(record)))
        elif name not in done and not _is_pending(contracts[name], settings):
            done[name] = "succeeded" if any(record.status == "succeeded" for record in records) else "no_new_data"
    logger.info(f"Resuming pipeline run {state.run_id}: {len(done)} of {len(contracts)} contracts are done")
    return Resumed(state.run_id, state.started_at, done, windows)


def _refuse_another(state: PipelineState, asked: Mapping[str, str]) -> None:
    differ = [name for name in {**state.request, **asked} if state.request.get(name) != asked.get(name)]
    if not differ:
        return
    told = ", ".join(f"{name} was {_shown(state.request, name)} and is {_shown(asked, name)}" for name in differ)
    hint = "repeat the options of that run, or run without --resume to begin anew"
    raise ContractError(
        [Problem("LL184", f"pipeline run {state.run_id} cannot be resumed by another request: {told}", hint=hint)]
    )


def _shown(request: Mapping[str, str], name: str) -> str:
    return f"`{request[name]}`" if name in request else "not given"


def _logged(run_id: str, contracts: Mapping[str, Contract], settings: Settings) -> dict[str, list[RunRecord]]:
    """By dataset, the runs on record that ended well as a part of a pipeline run."""
    folders = {find_places(contract, settings).state for contract in contracts.values()}
    found: dict[str, list[RunRecord]] = {}
    for folder in sorted(folder for folder in folders if folder is not None):
        for record in read_runs(folder, pipeline_run_id=run_id, limit=None):
            if record.dataset in contracts and record.status in GOOD:
                found.setdefault(record.dataset, []).append(record)
    return found


def _is_pending(contract: Contract, settings: Settings) -> bool:
    """Whether a batch is published and on record, and yet has to be closed: its run was killed just before."""
    control = find_places(contract, settings).control
    return control is not None and open_journal(control).pending() is not None


def _window(record: RunRecord) -> Window | None:
    if record.window_start is None or record.window_end is None or record.window_zone is None:
        return None
    return Window(record.window_start, record.window_end, record.window_zone)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
