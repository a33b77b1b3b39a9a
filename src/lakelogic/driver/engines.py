"""Engines for many contracts at once: one Spark application with a session each, or a database each."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lakelogic.contract.contract import Contract
from lakelogic.core.keys import derive_keys
from lakelogic.core.secrets import reveal
from lakelogic.core.settings import Settings
from lakelogic.engine.protocol import Engine
from lakelogic.engine.registry import EngineOptions, open_engine

# So that a large contract does not keep the small ones waiting until it is done.
_FAIR = {"spark.scheduler.mode": "FAIR"}


@dataclass
class SharedEngines:
    """Opens engines in the threads that use them; Spark is started by the first one that has something to read."""

    settings: Settings
    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    session: Any = None  # the caller's own Spark session
    _spark: Any = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, name: str, contract: Contract) -> Engine:
        """The engine of one contract, for the calling thread; whoever uses it closes it."""
        if name != "spark":
            return open_engine(name, EngineOptions(self.settings, self._keys()))
        with self._lock:
            if self._spark is None:
                conf = {**_FAIR, **self.conf}
                options = EngineOptions(self.settings, self._keys(), self.master, self.remote, self.session, conf)
                self._spark = open_engine("spark", options)
        engine: Engine = self._spark.fork(contract.dataset, spark_settings(contract))
        return engine

    def close(self) -> None:
        if self._spark is not None:
            self._spark.close()
            self._spark = None

    def _keys(self) -> Any:
        return derive_keys(self.settings.pii_key.reveal() if self.settings.pii_key else None)


def spark_settings(contract: Contract) -> dict[str, str]:
    """The `spark:` block of a contract, its own or inherited."""
    return {name: str(reveal(value)) for name, value in contract.spark.items()}


def common_settings(contracts: Iterable[Contract]) -> dict[str, str]:
    """What the application is started with: settings on which all contracts that name them agree."""
    found: dict[str, set[str]] = {}
    for contract in contracts:
        for name, value in spark_settings(contract).items():
            found.setdefault(name, set()).add(value)
    return {name: values.pop() for name, values in found.items() if len(values) == 1}
