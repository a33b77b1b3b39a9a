"""The programs `lakelogic` and `lakelogic-driver`, as the operating system starts them.

A process that has done its work must not fail on its way out. Libraries below us keep native threads; one that asks
for the interpreter while Python takes itself down is ended by force, and now and then that aborts the whole process
(exit code 134 after a good run). So the last thing that Python does at exit, after threads and exit handlers, is to
leave without taking anything down.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable

EXIT_CANNOT_WRITE = 141  # as for a closed pipe: nobody reads what we say any more


# Half a million objects are made while modules are loaded, and hardly one is garbage: looking for it every two thousand
# is a tenth of what a small run takes.
gc.set_threshold(100_000, 20, 20)


def main() -> None:
    """Entry point of `lakelogic`."""
    from lakelogic.cli.main import main as command

    _run(command)


def driver() -> None:
    """Entry point of `lakelogic-driver`."""
    from lakelogic.cli.driver import main as command

    _run(command)


def _run(command: Callable[[], None]) -> None:
    ending = _Ending()
    # Handlers run in the opposite order of their registration: this one, known first, runs last.
    atexit.register(ending.leave)
    try:
        command()
    except SystemExit as ended:
        ending.code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        raise
    ending.code = 0


class _Ending:
    """How the process ends; a command that ended by an error of its own has said so by then."""

    def __init__(self) -> None:
        self.code = 1

    def leave(self) -> None:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            self.code = self.code or EXIT_CANNOT_WRITE
        os._exit(self.code)
