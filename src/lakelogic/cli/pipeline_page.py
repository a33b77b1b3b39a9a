"""A finished pipeline run as a person reads it: a table by layers, then what needs attention."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lakelogic.cli.render import stdout_console
from lakelogic.contract.info import LAYERS
from lakelogic.core.pipeline_run import INTERRUPTED, RUNNING, WAITING, ContractRun, PipelineRun
from lakelogic.core.redaction import redact

STYLES = {
    "succeeded": "green",
    "no_new_data": "dim",
    "gate_failed": "yellow",
    "held": "yellow",
    "failed": "bold red",
    "skipped": "yellow",
    INTERRUPTED: "yellow",
    RUNNING: "cyan",
    WAITING: "dim",
}
_MANY = 3  # how many of the slowest and of the most rejected are named
_NOTABLE_S = 1.0  # a contract that took less is not worth being called slow
_NAMED = 8  # how many datasets are named that were held back with another


def print_pipeline(run: PipelineRun) -> None:
    """Print the page to stdout."""
    stdout_console().print(draw_pipeline(run))


def draw_pipeline(run: PipelineRun) -> RenderableType:
    parts: list[RenderableType] = [_heading(run), _table(run)]
    for title, lines in (
        ("Needs attention", list(_attention(run))),
        ("Quarantine", list(_quarantine(run))),
        ("Slowest", list(_slowest(run))),
    ):
        if lines:
            parts += [Text(title, style="bold"), Padding(Group(*lines), (0, 0, 1, 2), expand=False)]
    return Group(*parts)


def told_seconds(seconds: float | None) -> str:
    """A time that a person takes in at once: 3.2 s, 4:05, 2:00:09."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def told_status(status: str) -> str:
    return {"skipped": "held back", "held": "unapproved"}.get(status, status.replace("_", " "))


def by_layers(contracts: Iterable[ContractRun]) -> Iterator[tuple[str | None, list[ContractRun]]]:
    """In the order in which rows go through the layers; whoever has no layer comes last."""
    found = list(contracts)
    for layer in (*LAYERS, None):
        mine = [each for each in found if each.layer == layer]
        if mine:
            yield layer, mine


def _heading(run: PipelineRun) -> Text:
    style = STYLES.get(run.status, "bold")
    return Text.assemble(
        ("\npipeline ", "bold"), (run.run_id, "bold"), ": ", (told_status(run.status), style),
        f" after {told_seconds(run.duration_s)}",
    )  # fmt: skip


def _table(run: PipelineRun) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", show_footer=True, footer_style="bold", padding=(0, 1, 0, 0))
    table.add_column("dataset", overflow="fold", footer=f"{len(run.contracts)} contracts")
    table.add_column("status", no_wrap=True)
    for name in ("read", "accepted", "quarantined"):
        total = sum(getattr(each.rows, name) for each in run.contracts)
        table.add_column(name, justify="right", no_wrap=True, footer=f"{total:,}")
    table.add_column("time", justify="right", no_wrap=True, footer=told_seconds(run.duration_s))
    for layer, contracts in by_layers(run.contracts):
        table.add_row(Text(layer or "no layer", style="bold"))
        for contract in contracts:
            table.add_row(*_row(contract))
        table.add_section()
    return table


def _row(contract: ContractRun) -> list[RenderableType]:
    status = told_status(contract.status)
    if contract.ended_well and contract.started_at is None:
        status = "done before"
    # Padded, not written with blanks: a long name that is folded stays indented.
    name = Padding(Text(contract.dataset, overflow="fold"), (0, 0, 0, 2))
    cells: list[RenderableType] = [name, Text(status, style=STYLES.get(contract.status, ""))]
    rows = contract.rows
    if not contract.run_ids:
        cells += [Text(""), Text(""), Text("")]
    else:
        rejected = Text(f"{rows.quarantined:,}", style="yellow" if rows.quarantined else "")
        cells += [Text(f"{rows.read:,}"), Text(f"{rows.accepted:,}"), rejected]
    return [*cells, Text(told_seconds(contract.duration_s) if contract.started_at else "")]


def _attention(run: PipelineRun) -> Iterator[RenderableType]:
    """Each contract that went wrong with those that were held back with it; then those held back for other reasons."""
    known = {each.dataset: each for each in run.contracts}
    behind: dict[str, list[str]] = {}
    alone: dict[str, list[str]] = {}
    for contract in run.contracts:
        if contract.status == "skipped":
            causes = _causes(contract, known)
            for cause in causes:
                behind.setdefault(cause, []).append(contract.dataset)
            if not causes:
                alone.setdefault(_first_reason(contract, known), []).append(contract.dataset)
    for contract in run.contracts:
        if not contract.ended_well and contract.status != "skipped":
            yield _went_wrong(contract, behind.get(contract.dataset, []))
    for reason, datasets in alone.items():
        yield _hanging("yellow", f"{_names(datasets)} held back", redact(reason))
    if run.status != "succeeded":
        yield Text("then the same command with --resume goes on with what is left", style="dim")


def _causes(contract: ContractRun, known: dict[str, ContractRun]) -> list[str]:
    """The contracts above, however far, that went wrong and so kept this one from running."""
    found, seen, waiting = [], {contract.dataset}, list(contract.needs)
    while waiting:
        name = waiting.pop(0)
        above = known.get(name)
        if above is None or name in seen or above.ended_well:
            continue
        seen.add(name)
        if above.status == "skipped":
            waiting += above.needs
        else:
            found.append(name)
    return found


def _first_reason(contract: ContractRun, known: dict[str, ContractRun]) -> str:
    """Why the topmost of those that were held back was; the others only repeat it."""
    above = contract
    for _ in known:
        held = [known[name] for name in above.needs if name in known and known[name].status == "skipped"]
        if not held:
            break
        above = held[0]
    return above.reason or ""


def _went_wrong(contract: ContractRun, behind: list[str]) -> RenderableType:
    problem = contract.problem
    code = f" ({problem.code})" if problem else ""
    told = redact((problem.message if problem else contract.reason) or "")
    lines: list[RenderableType] = [
        _hanging(STYLES.get(contract.status, ""), f"{contract.dataset} {told_status(contract.status)}{code}", told)
    ]
    if problem and problem.hint:
        lines.append(_indented(f"hint: {redact(problem.hint)}"))
    if problem and problem.place:
        lines.append(_indented(f"at {_short(problem.place.file)}:{problem.place.line}:{problem.place.column}"))
    command = _next_command(contract)
    if command:
        lines.append(_indented(f"next: {command}"))
    if behind:
        lines.append(_indented(f"held back with it: {_names(behind)}"))
    return Group(*lines)


def _next_command(contract: ContractRun) -> str | None:
    if contract.place is None:
        return None
    file = shlex.quote(_short(contract.place.file))
    if contract.status == "gate_failed" and contract.run_ids:
        return f"lakelogic runs show {contract.run_ids[-1]} {file}"
    commands = {"failed": f"lakelogic run {file} --debug", "held": f"lakelogic approvals list {file}"}
    return commands.get(contract.status)


def _quarantine(run: PipelineRun) -> Iterator[RenderableType]:
    found = [each for each in run.contracts if each.rows.quarantined]
    found.sort(key=lambda each: -(each.rows.quarantine_ratio or 0))
    for contract in found[:_MANY]:
        rows = contract.rows
        ratio = rows.quarantine_ratio or 0
        share = f"{ratio:.1%}" if ratio >= 0.001 else "< 0.1%"
        most = f", most by `{contract.failed_rules[0][0]}`" if contract.failed_rules else ""
        yield _hanging("yellow", contract.dataset, f"{rows.quarantined:,} of {rows.read:,} rows ({share}){most}")
    if len(found) > _MANY:
        yield Text(f"and {len(found) - _MANY} more", style="dim")


def _slowest(run: PipelineRun) -> Iterator[RenderableType]:
    timed = [each for each in run.contracts if each.started_at and (each.duration_s or 0) >= _NOTABLE_S]
    if len(run.contracts) <= _MANY or not timed:
        return
    timed.sort(key=lambda each: -(each.duration_s or 0))
    yield Text(", ".join(f"{each.dataset} {told_seconds(each.duration_s)}" for each in timed[:_MANY]))


def _hanging(style: str, head: str, told: str) -> RenderableType:
    """Lines after the first are indented, so that a long reason reads as one thing."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text("•", style=style), Text.assemble((head, style), f": {told}" if told else ""))
    return grid


def _indented(text: str) -> RenderableType:
    return Padding(Text(text, overflow="fold"), (0, 0, 0, 2), expand=False)


def _names(datasets: list[str]) -> str:
    more = f" and {len(datasets) - _NAMED} more" if len(datasets) > _NAMED else ""
    return ", ".join(datasets[:_NAMED]) + more


def _short(file: str) -> str:
    """Relative to the working folder where it lies below it, so that a command is easy to copy."""
    try:
        return str(Path(os.path.abspath(file)).relative_to(Path.cwd()))
    except ValueError:
        return file
