"""DataProcessor: the front of the path for Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any

from lakelogic.contract.contract import Contract
from lakelogic.contract.policy_pack import PackChoice
from lakelogic.core.clock import Clock, SystemClock
from lakelogic.core.errors import RunError
from lakelogic.core.keys import derive_keys
from lakelogic.core.secrets import reveal
from lakelogic.core.settings import Settings, read_settings
from lakelogic.core.window import Granularity, Window
from lakelogic.engine.protocol import Engine
from lakelogic.engine.registry import EngineOptions, open_engine
from lakelogic.run.approvals import Approvals
from lakelogic.run.attempt import Attempt, Guard
from lakelogic.run.check import check_frame, check_source
from lakelogic.run.links import FindContract, find_in_registries, resolve_links
from lakelogic.run.pipeline import RunContext, run_contract
from lakelogic.run.places import all_paths
from lakelogic.run.references import ReferenceCache
from lakelogic.run.result import RunResult
from lakelogic.run.validate import load_checked
from lakelogic.run.windows import Span, WindowKind, find_window, plan_backfill
from lakelogic.storage.address import is_remote

DEFAULT_ENGINE = "spark"


class DataProcessor:
    """Runs one contract, as often as wanted, on one engine. Usable in a `with` block; closes its engine at exit."""

    def __init__(
        self,
        contract: str | os.PathLike[str] | Contract,
        engine: str | None = None,
        spark: Any = None,
        *,
        env: str | None = None,
        stage: str | None = None,
        overrides: Sequence[str] = (),
        policy_packs: Sequence[str] = (),
        policy_pack_dir: str | os.PathLike[str] | None = None,
        master: str | None = None,
        remote: str | None = None,
        wait_s: float = 0,
        on_phase: Callable[[str], None] = lambda phase: None,
        settings: Settings | None = None,
        environ: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
        open_engine: Callable[[str, Contract], Engine] | None = None,
        approval_required: bool = False,
        approval_file: str | os.PathLike[str] | None = None,
        references: ReferenceCache | None = None,
        find_contract: FindContract | None = None,
        guard: Callable[[Contract], Guard] | None = None,
    ) -> None:
        self._settings = settings or read_settings(environ)
        env = env or self._settings.env
        packs = PackChoice(tuple(policy_packs), Path(policy_pack_dir) if policy_pack_dir is not None else None)
        self.contract = (
            resolve_links(contract, self._settings, find_in_registries(contract, env))
            if isinstance(contract, Contract)
            else load_checked(contract, env=env, stage=stage, overrides=overrides, settings=self._settings, packs=packs)
        )
        chosen = self._settings.engine if spark is None else "spark"
        self._engine_name = engine or chosen or self.contract.engine or DEFAULT_ENGINE
        self._options = (spark, master, remote)
        self._wait_s, self._on_phase = wait_s, on_phase
        self._clock = clock or SystemClock()
        self._open_engine = open_engine or self._open_own
        self._references = references
        self._guard = guard(self.contract) if guard else None
        self._engine: Engine | None = None
        self._find_contract = find_contract or find_in_registries(self.contract, env)
        self._approvals = Approvals(approval_required, os.fspath(approval_file) if approval_file else None)

    def run(self, *, window: Window | None = None, everything: bool = False) -> RunResult:
        """Read what is new, check it, publish it; without a target only check.

        A window reads and replaces its own rows only; `everything` reads all of the source, whatever was read before.
        """
        return self._run(None, window, everything=everything)

    def run_all(self) -> Iterator[RunResult]:
        """Run batch after batch until no new file waits, or a gate says no; one where batches have no limit."""
        while True:
            result = self.run()
            yield result
            if not result.waiting or result.stopped:
                return

    def backfill(
        self, first: date, last: date, granularity: Granularity = "day", *, only_gaps: bool = False
    ) -> Iterator[tuple[Window, RunResult]]:
        """Run window after window, up to the first one that a gate stops; `only_gaps` leaves out what is done."""
        slices = plan_backfill(self.contract, self._settings, Span(first, last), granularity, only_gaps=only_gaps)
        for window in slices:
            result = self.run(window=window)
            yield window, result
            if result.stopped:
                return

    def find_window(self, kind: WindowKind, span: Span | None = None) -> Window | None:
        """The window that a word such as `yesterday` means for this contract, now."""
        return find_window(self.contract, kind, span, self._clock.now())

    def run_source(self, path: str | os.PathLike[str]) -> RunResult:
        """The same for another path or table than the contract's source."""
        if not os.fspath(path).strip():
            # It would be the contract's own folder with all that lies there: no event without a key means that.
            raise RunError("the path to read is empty", hint="name a file, a folder or a table")
        return self._run(os.fspath(path))

    def run_dataframe(self, frame: Any) -> RunResult:
        """Check the rows of a frame; writes to no table, so it can be used inside foreachBatch."""
        return check_frame(self.contract, frame, self._context(None))

    def _run(self, source: str | None, window: Window | None = None, *, everything: bool = False) -> RunResult:
        target = self.contract.materialization.target_path if self.contract.materialization else None
        run = run_contract if target else check_source

        def attempt(this: Attempt) -> RunResult:
            if source is not None and is_remote(source):
                self.engine.reach((source,))
            return run(self.contract, self._context(source, window, everything=everything, attempt=this))

        return attempt(Attempt()) if self._guard is None else self._guard.run(attempt, self._interrupt)

    def _interrupt(self) -> None:
        engine = self._engine
        if engine is not None:
            engine.interrupt()

    def _context(
        self,
        source: str | None,
        window: Window | None = None,
        *,
        everything: bool = False,
        attempt: Attempt | None = None,
    ) -> RunContext:
        return RunContext(
            self._settings,
            self._engine_name,
            lambda: self.engine,
            self._clock,
            self._wait_s,
            source,
            self._on_phase,
            window,
            everything,
            attempt=attempt or Attempt(),
            approvals=self._approvals,
            references=self._references,
            find_contract=self._find_contract,
        )

    @property
    def engine(self) -> Engine:
        """The engine, started when it is first needed."""
        if self._engine is None:
            self._on_phase(f"starting {self._engine_name}")
            self._engine = self._open_engine(self._engine_name, self.contract)
            if self._guard is not None:
                self._engine.make_interruptible()
            self._engine.reach(all_paths(self.contract, self._settings))
        return self._engine

    def _open_own(self, name: str, contract: Contract) -> Engine:
        spark, master, remote = self._options
        key = self._settings.pii_key.reveal() if self._settings.pii_key else None
        conf = {setting: str(reveal(value)) for setting, value in contract.spark.items()}
        return open_engine(name, EngineOptions(self._settings, derive_keys(key), master, remote, spark, conf))

    @property
    def engine_name(self) -> str:
        """The engine that was chosen, started or not."""
        return self._engine_name

    def open_spark(self) -> Any:
        """The Spark session of the engine, started when it is first needed."""
        return self.engine.spark  # type: ignore[attr-defined]

    def close(self) -> None:
        """Stop the engine, if this processor started it; frames of its results are then gone."""
        lost = self._guard is not None and self._guard.lost
        if self._engine is not None and not lost:
            self._engine.close()
            self._engine = None
        if self._guard is not None:
            self._guard.close()

    def __enter__(self) -> DataProcessor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
