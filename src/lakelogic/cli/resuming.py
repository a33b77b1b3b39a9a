"""Options of a pipeline about its state: where it is kept, and going on with the last run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lakelogic.driver.load_many import Wanted
    from lakelogic.driver.pipeline import Prepared
    from lakelogic.driver.resume import Resumed
    from lakelogic.driver.select import Selection
    from lakelogic.driver.watch import Watcher
    from lakelogic.driver.worker import Request

StatePath = Annotated[
    str | None,
    typer.Option(
        "--state-path",
        metavar="FILE",
        help="Keep the state of the run in this JSON file (default: beside the run log); --resume reads it.",
        show_default=False,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Go on with the last run of the same request: what had ended well in it is not run again."
    ),
]


@dataclass(frozen=True, slots=True)
class Continuation:
    """The run that is gone on with, if any, and who keeps the state of this one."""

    resumed: Resumed | None = None
    watchers: tuple[Watcher, ...] = ()

    def left_of(self, prepared: Prepared) -> Prepared:
        """What is not done yet."""
        done = self.resumed.done if self.resumed else {}
        return replace(prepared, contracts={n: each for n, each in prepared.contracts.items() if n not in done})


def continue_run(
    prepared: Prepared,
    request: Request,
    chosen: Selection,
    loading: Wanted,
    *,
    files: tuple[os.PathLike[str], ...],
    state_path: str | None,
    resume: bool,
) -> Continuation:
    """Look for the state of the last run, and make ready to keep that of this one."""
    from lakelogic.driver.resume import default_path, describe_request
    from lakelogic.driver.resume import resume as go_on
    from lakelogic.driver.state import StateKeeper, check_writable, read_state

    asked: Mapping[str, str] = describe_request(request, chosen, loading)
    path = state_path or default_path(prepared.dag, chosen, [os.path.abspath(file) for file in files])
    if path is None:
        return Continuation()
    resumed = go_on(read_state(path), asked, prepared.contracts, request.settings) if resume else None
    check_writable(path)
    return Continuation(resumed, (StateKeeper(path, asked, resumed.started_at if resumed else None),))
