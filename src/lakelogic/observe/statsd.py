"""StatsD over UDP, with the tags that DogStatsD began and most servers read."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator
from datetime import datetime

from lakelogic.core.errors import RunError
from lakelogic.core.pipeline_run import STATUSES, ContractRun, PipelineRun
from lakelogic.observe.metrics import LABELS, label_values

# What fits into one Ethernet frame; more would be cut or dropped on the way.
_PACKET_BYTES = 1400
_UNSAFE = re.compile(r"[^\w./-]+")


class StatsdSender:
    """Sends lines to one server; whether anybody listens is not known, as is usual with UDP."""

    def __init__(self, host: str, port: int) -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise RunError(
                f"the StatsD server {host}:{port} cannot be found: {why}",
                code="LL495",
                hint="check --metrics-host and --metrics-port",
            ) from error
        self._address = found[4]
        self._socket = socket.socket(found[0], socket.SOCK_DGRAM)

    def send(self, lines: Iterable[str]) -> None:
        for packet in pack(lines):
            self._socket.sendto(packet, self._address)

    def close(self) -> None:
        self._socket.close()


def contract_lines(contract: ContractRun, now: datetime) -> Iterator[str]:
    """What is told when a contract ends: rows and runs are counted by the server, so that they add up over runs."""
    tags = _tags(zip(LABELS, label_values(contract), strict=True))
    yield f"lakelogic.runs:{max(len(contract.run_ids), 1)}|c{tags}"
    if contract.run_ids:
        for what in ("read", "accepted", "quarantined"):
            yield f"lakelogic.rows_{what}:{getattr(contract.rows, what)}|c{tags}"
    if contract.rows.quarantine_ratio is not None:
        yield f"lakelogic.quarantine_ratio:{contract.rows.quarantine_ratio:.6f}|g{tags}"
    if contract.started_at is not None and contract.duration_s is not None:
        yield f"lakelogic.contract_duration:{contract.duration_s * 1000:.0f}|ms{tags}"
    if contract.last_success_at is not None:
        yield f"lakelogic.freshness_seconds:{max((now - contract.last_success_at).total_seconds(), 0):.0f}|g{tags}"


def pipeline_lines(run: PipelineRun) -> Iterator[str]:
    """How many contracts are where, and when it is over, how long it took."""
    for status in STATUSES:
        yield f"lakelogic.contracts:{run.count(status)}|g{_tags([('status', status)])}"
    if run.finished_at is not None:
        tags = _tags([("status", run.status)])
        yield f"lakelogic.pipelines:1|c{tags}"
        yield f"lakelogic.pipeline_duration:{run.duration_s * 1000:.0f}|ms{tags}"


def pack(lines: Iterable[str]) -> Iterator[bytes]:
    """Lines in as few packets as they fit into."""
    packet = b""
    for line in lines:
        more = line.encode()
        if packet and len(packet) + 1 + len(more) > _PACKET_BYTES:
            yield packet
            packet = b""
        packet = packet + b"\n" + more if packet else more
    if packet:
        yield packet


def _tags(pairs: Iterable[tuple[str, str]]) -> str:
    return "|#" + ",".join(f"{name}:{_UNSAFE.sub('_', value) or 'none'}" for name, value in pairs)
