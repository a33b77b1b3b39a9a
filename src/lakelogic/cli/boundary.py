"""The edge of the program: errors become text and exit codes here, and nowhere else."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

from lakelogic.core.errors import LakeLogicError
from lakelogic.core.redaction import redact

EXIT_UNEXPECTED = 4
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


def run_guarded(command: Callable[[], object], *, debug: bool) -> int:
    """Carry out a command; a traceback reaches the person only with `debug`."""
    try:
        command()
    except LakeLogicError as error:
        _tell(str(error), debug=debug)
        return error.exit_code
    except KeyboardInterrupt:
        _tell("interrupted; the next run finishes what this one began", debug=debug)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read us (`head`) has left. Python would complain again while it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the last line of defence
        name = type(error).__name__
        # Not the text of the error: a library may quote a row or a key in it.
        _tell(
            f"LL900 unexpected {name}\n    hint: run again with --debug and report what it prints",
            debug=debug,
        )
        return EXIT_UNEXPECTED
    return 0


def _tell(text: str, *, debug: bool) -> None:
    if debug:
        sys.stderr.write(redact(traceback.format_exc()))
    sys.stderr.write(redact(text) + "\n")
