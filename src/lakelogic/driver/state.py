"""The state of a pipeline run as a file: what was asked for, and what became of each contract so far.

It says which run `--resume` goes on with. That a contract is done also stands in the run log, which is written before
this file: a process that is killed between the two loses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from lakelogic.core.errors import RunError
from lakelogic.driver.outcome import GOOD, Outcome
from lakelogic.driver.watch import Beginning, Ending
from lakelogic.storage.files import read_file, remove_file, write_file
from lakelogic.storage.resolver import short_reason

FORMAT = 1


@dataclass(frozen=True, slots=True)
class ContractState:
    """How far a contract came; `waiting` has not ended in any way, maybe it was under way."""

    status: str = "waiting"
    reason: str | None = None
    code: str | None = None
    runs: tuple[str, ...] = ()
    ended_at: str | None = None


@dataclass(frozen=True, slots=True)
class PipelineState:
    """A pipeline run; `status` is `running`, `interrupted`, `failed` or `succeeded`."""

    run_id: str
    started_at: datetime
    request: Mapping[str, str]
    status: str = "running"
    updated_at: datetime | None = None
    contracts: Mapping[str, ContractState] = field(default_factory=dict)


def read_state(path: str) -> PipelineState | None:
    """The state at a path; None where there is none yet."""
    try:
        node = json.loads(read_file(path))
        if node["format"] != FORMAT:
            raise ValueError(f"format {node['format']}")
        contracts = {name: _contract(each) for name, each in node["contracts"].items()}
        return PipelineState(
            node["run_id"],
            datetime.fromisoformat(node["started_at"]),
            dict(node["request"]),
            node["status"],
            datetime.fromisoformat(node["updated_at"]) if node["updated_at"] else None,
            contracts,
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(
            f"the state of the last pipeline run cannot be read from `{path}`: {type(error).__name__}",
            hint="run without --resume to begin anew; every contract still reads only what is new to it",
            code="LL185",
        ) from error


def write_state(path: str, state: PipelineState) -> None:
    """Write the state whole or not at all."""
    node = {
        "format": FORMAT,
        **asdict(state),
        "started_at": state.started_at.isoformat(),
        "updated_at": state.updated_at.isoformat() if state.updated_at else None,
    }
    try:
        write_file(path, json.dumps(node, indent=1).encode())
    except OSError as error:
        raise _unwritable(path, error) from error


def _contract(node: Mapping[str, Any]) -> ContractState:
    return ContractState(node["status"], node["reason"], node["code"], tuple(node["runs"]), node["ended_at"])


class StateKeeper:
    """Watches a pipeline run and keeps its state file up to date."""

    def __init__(self, path: str, request: Mapping[str, str], started_at: datetime | None = None) -> None:
        self._path, self._request, self._started_at = path, request, started_at
        self._state: PipelineState | None = None

    def __str__(self) -> str:
        return f"state file `{self._path}`"

    def pipeline_began(self, beginning: Beginning) -> None:
        waiting = {name: ContractState() for name in beginning.jobs}
        started_at = self._started_at or beginning.started_at
        self._state = PipelineState(
            beginning.run_id, started_at, self._request, updated_at=beginning.started_at, contracts=waiting
        )
        self._write()

    def contract_began(self, dataset: str, at: datetime) -> None:
        return

    def contract_ended(self, outcome: Outcome, at: datetime) -> None:
        self._note(outcome, at)
        self._write()

    def contract_held(self, outcome: Outcome, at: datetime) -> None:
        # Hundreds may be held back at once; the next one that ends, or the end of all, writes them.
        self._note(outcome, at)

    def pipeline_ended(self, ending: Ending) -> None:
        assert self._state is not None
        whole = all(each.status in GOOD for each in self._state.contracts.values())
        stopped = ending.interrupted or ending.result.interrupted
        status = "interrupted" if stopped else "succeeded" if whole else "failed"
        self._state = replace(self._state, status=status, updated_at=ending.finished_at)
        self._write()

    def _note(self, outcome: Outcome, at: datetime) -> None:
        assert self._state is not None
        ended = ContractState(
            outcome.status,
            outcome.reason,
            outcome.problem.code if outcome.problem else None,
            tuple(result.run_id for result in outcome.results),
            at.isoformat(),
        )
        contracts = {**self._state.contracts, outcome.dataset: ended}
        self._state = replace(self._state, contracts=contracts, updated_at=at)

    def _write(self) -> None:
        assert self._state is not None
        write_state(self._path, self._state)


def check_writable(path: str) -> None:
    """Refuse a place that cannot be written to before the first contract starts, not after the last."""
    probe = f"{path}.probe"
    try:
        write_file(probe, b"")
        remove_file(probe)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: str, error: OSError) -> RunError:
    return RunError(
        f"the state of the pipeline run cannot be written to `{path}`: {short_reason(error)}",
        hint="choose another --state-path",
        code="LL185",
    )
