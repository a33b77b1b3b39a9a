"""`--approval-required`, `--approval-file`, and `lakelogic approvals`: who lets held batches through."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakelogic.cli.options import Debug, Engine, Env, Output, OutputFormat, Quiet
from lakelogic.cli.render import print_json, print_table, print_text, say
from lakelogic.cli.selection import Wait

if TYPE_CHECKING:
    from lakelogic.core.settings import Settings
    from lakelogic.run.held_batches import FoundBatch

ApprovalRequired = Annotated[
    bool,
    typer.Option(
        "--approval-required",
        help="Hold batches behind a closed gate (quarantine ratio, dataset rules, schema drift, deletes) until "
        "somebody approves them.",
    ),
]
ApprovalFile = Annotated[
    str | None,
    typer.Option(
        "--approval-file",
        metavar="FILE",
        help="Approvals of held batches, YAML or JSON; what one of them is for is published.",
        show_default=False,
    ),
]
Where = Annotated[
    Path, typer.Argument(metavar="CONTRACT|REGISTRY|FOLDER", help="A contract, a registry, or a folder of contracts.")
]
RunId = Annotated[
    str, typer.Argument(metavar="RUN", help="Id of the run that is held, or its beginning.", show_default=False)
]
By = Annotated[str, typer.Option("--by", metavar="WHO", help="Who decides; it goes on record.", show_default=False)]
File = Annotated[str, typer.Option("--approval-file", metavar="FILE", help="Where the approval is written to.")]
Expires = Annotated[
    str, typer.Option(metavar="AGE|MOMENT", help="How long it holds: 24h, 7d, or a moment or date (UTC).")
]
Note = Annotated[str | None, typer.Option(help="Why; for people.", show_default=False)]
Reason = Annotated[str | None, typer.Option(help="Why; it goes on record.", show_default=False)]
_COLUMNS = ("dataset", "run_id", "held_at", "accepted", "quarantined", "reasons", "digest")

app = typer.Typer(
    help="List held batches, approve one, or discard one.", no_args_is_help=True, rich_markup_mode="rich",
    add_completion=False,
)  # fmt: skip


def check_approval_file(path: str | None) -> None:
    """A mistake in the file is told before anything runs; a file that is not there approves nothing."""
    from lakelogic.record.approval_file import read_approvals

    if path is not None:
        read_approvals(path)


def tell_held(held: Iterable[Mapping[str, Any]], file: str | None) -> None:
    """What to write to have held batches published, on stderr."""
    for each in held:
        say(f"\n`{each['dataset']}` is held: {'; '.join(each['reasons'])}", style="bold")
        for refusal in each["refusals"]:
            say(f"not released: {refusal}")
        say(f"to publish it, put this into {f'`{file}`' if file else 'an approval file'} and run again:")
        say("approvals:\n" + "\n".join(f"  {'- ' if key == 'dataset' else '  '}{key}: {each[key]}" for key in
                                        ("dataset", "run_id", "digest")))  # fmt: skip
        say("    approver: <who>\n    expires: <until when, such as 2026-02-07T12:00:00Z>")
        say(
            f"`lakelogic approvals approve {each['run_id']} CONTRACT --by WHO` writes it, `... discard ...` gives it up"
        )


@app.command("list")
def list_held(
    where: Where = Path(), env: Env = None, output: Output = OutputFormat.TABLE, debug: Debug = False
) -> None:
    """List the batches that wait for an approval, with what would be published and why they wait.

    \b
    Examples:
      lakelogic approvals list contracts/_registry.yaml
      lakelogic approvals list contract.yaml --output json
    """
    found, _ = _find(where, env)
    lines = [each.to_dict() for each in found]
    if output is OutputFormat.JSON:
        print_json(lines)
    elif lines:
        print_table(_COLUMNS, [[line[name] for name in _COLUMNS] for line in lines], right="accepted quarantined")
    else:
        say(f"nothing of {where} is held")


@app.command("approve")
def approve(
    run: RunId,
    by: By,
    where: Where = Path(),
    approval_file: File = "approvals.yaml",
    expires: Expires = "24h",
    note: Note = None,
    env: Env = None,
    debug: Debug = False,
) -> None:
    """Write the approval of a held batch into a file; the next run that is given the file publishes the batch.

    \b
    Examples:
      lakelogic approvals approve 20260206T06 contract.yaml --by ann@example.com
      lakelogic approvals approve 20260206T06 contracts/ --by ann@example.com --approval-file approvals/2026-02-06.ok
    """
    from lakelogic.record.approval_file import Approval, add_approval
    from lakelogic.run.held_batches import choose_held

    until = _parse_expiry(expires)
    found, _ = _find(where, env)
    held = choose_held(found, run).held
    add_approval(approval_file, Approval(held.dataset, held.run_id, held.digest, by, until, note))
    print_text(f"{approval_file}: `{held.dataset}`, run {held.run_id}, until {until:%Y-%m-%d %H:%M}Z")
    say(f"run it again with --approval-file {approval_file} to publish it")


@app.command("discard")
def discard(
    run: RunId,
    by: By,
    where: Where = Path(),
    reason: Reason = None,
    engine: Engine = None,
    env: Env = None,
    wait: Wait = 0,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Give a held batch up: its files are removed, and the next run reads its rows again.

    \b
    Examples:
      lakelogic approvals discard 20260206T06 contract.yaml --by ann@example.com --reason "source was cut off"
    """
    from lakelogic.cli.run import start_log
    from lakelogic.cli.selection import spark_opener
    from lakelogic.run.held_batches import choose_held, discard_held
    from lakelogic.run.processor import DataProcessor

    found, settings = _find(where, env)
    start_log(settings, quiet=quiet, debug=debug)
    chosen = choose_held(found, run)
    with DataProcessor(chosen.contract, engine=engine.value if engine else None, settings=settings) as processor:
        spark = spark_opener(processor)
        held = discard_held(
            chosen.contract, settings, chosen.held.run_id, by=by, reason=reason, open_spark=spark, wait_s=wait
        )
    print_text(f"`{held.dataset}`: the batch of run {held.run_id} was discarded; the next run reads its rows again")


def _find(where: Path, env: str | None) -> tuple[tuple[FoundBatch, ...], Settings]:
    from lakelogic.core.settings import read_settings
    from lakelogic.driver.estate import read_estate
    from lakelogic.run.held_batches import find_held

    settings = read_settings(os.environ)
    estate = read_estate([where], env=env or settings.env, settings=settings, checked=False)
    return find_held(estate.contracts, settings), settings


def _parse_expiry(text: str) -> datetime:
    from lakelogic.contract.duration import parse_duration
    from lakelogic.record.approval_file import parse_expiry

    now = datetime.now(UTC)
    try:
        until: datetime | None = now + parse_duration(text)
    except ValueError:
        until = parse_expiry(text)
    if until is None or until <= now:
        what = f"`{text}` is neither a time such as 24h nor a moment to come, such as 2026-02-07T12:00:00Z"
        raise typer.BadParameter(what, param_hint="--expires")
    return until.replace(microsecond=0)
