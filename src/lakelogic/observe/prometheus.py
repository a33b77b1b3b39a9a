"""Prometheus: `/metrics` over HTTP while a process lives, and text files for a collector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lakelogic.core.errors import RunError
from lakelogic.observe.metrics import Family

EXTRA_HINT = "pip install 'lakelogic[metrics]'"


class MetricsServer:
    """Serves what `collect` gives at the moment of each request."""

    def __init__(self, collect: Callable[[], Iterable[Family]], host: str, port: int) -> None:
        prometheus_client = import_client()
        try:
            self._server, self._thread = prometheus_client.start_http_server(port, host, registry=_registry(collect))
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise RunError(
                f"metrics cannot be served at {host}:{port}: {why}",
                code="LL495",
                hint="choose another --metrics-host or --metrics-port",
            ) from error

    @property
    def port(self) -> int:
        """The port that is listened on; where 0 was asked for, the one that was free."""
        return int(self._server.server_port)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def render_text(families: Iterable[Family]) -> str:
    """The families in the text format of Prometheus."""
    text: bytes = import_client().generate_latest(_registry(lambda: families))
    return text.decode()


def import_client() -> Any:
    """The client library; raises with the extra to install where it is missing."""
    try:
        import prometheus_client
    except ModuleNotFoundError as error:
        raise RunError(
            "metrics for Prometheus need the package `prometheus-client`, which is not installed",
            hint=EXTRA_HINT,
            code="LL496",
        ) from error
    return prometheus_client


def _registry(collect: Callable[[], Iterable[Family]]) -> Any:
    # A registry of our own: the global one also has numbers of this Python process.
    registry = import_client().CollectorRegistry(auto_describe=False)
    registry.register(_Collector(collect))
    return registry


class _Collector:
    def __init__(self, collect: Callable[[], Iterable[Family]]) -> None:
        self._collect = collect

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import GaugeMetricFamily

        for family in self._collect():
            gauge = GaugeMetricFamily(family.name, family.help, labels=family.labels)
            for sample in family.samples:
                gauge.add_metric(sample.labels, sample.value)
            yield gauge

    def describe(self) -> list[Any]:
        return []
