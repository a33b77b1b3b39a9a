"""Log lines: to stderr, in one form, without secrets."""

from __future__ import annotations

import json
import sys
from traceback import format_exception
from typing import TYPE_CHECKING, Any, Literal, TextIO

from loguru import logger

from lakelogic.core.redaction import redact
from lakelogic.core.settings import LogLevel

if TYPE_CHECKING:
    from loguru import Record

LogFormat = Literal["text", "json"]

_LINE = "[{time:YYYY-MM-DD HH:mm:ss}] <level>{level: <5}</level> | {message}\n"


def configure_log(
    *,
    level: LogLevel = "INFO",
    form: LogFormat = "text",
    stream: TextIO | None = None,
    colour: bool | None = None,
    traceback: bool = False,
) -> None:
    """Send the log lines of this process to a stream; `colour` None: only where the stream is a terminal."""
    terminal = (stream or sys.stderr).isatty()
    text = _LINE + "{exception}" if traceback else _LINE

    def write(line: str) -> None:
        # sys.stderr is looked up for each line: a progress display replaces it while it draws.
        target = stream or sys.stderr
        # The whole line, not only the message: an exception's text may quote a secret too.
        target.write(redact(line))
        target.flush()

    logger.remove()
    logger.add(
        write,
        level=level,
        format=(lambda record: _json_line(record, traceback)) if form == "json" else lambda _: text,
        colorize=form == "text" and (terminal if colour is None else colour),
        diagnose=False,  # it would print the values of local variables, and those may be rows or keys
        backtrace=False,
    )


def _json_line(record: Record, traceback: bool) -> str:
    entry: dict[str, Any] = {
        "time": record["time"].isoformat(timespec="milliseconds"),
        "level": record["level"].name,
        "message": record["message"],
        **record["extra"],
    }
    error = record["exception"]
    if error is not None and traceback:
        entry["exception"] = "".join(format_exception(error.type, error.value, error.traceback))
    # loguru formats what this returns once more, so braces of the JSON must not look like fields.
    record["extra"]["_json"] = json.dumps(entry, default=str)
    return "{extra[_json]}\n"
