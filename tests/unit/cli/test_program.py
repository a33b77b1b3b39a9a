"""What the programs leave behind when they end."""

from __future__ import annotations

import subprocess
import sys

_BEGIN = (
    "import atexit, sys, threading, time\n"
    "import lakelogic.cli.main, lakelogic.cli.program\n"
    "def command():\n"
    "    atexit.register(lambda: print('handler', flush=True))\n"
    "    threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()\n"
    "    print('done')\n"
)
_END = "lakelogic.cli.main.main = command\nlakelogic.cli.program.main()\n"


def _end_with(statement: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"{_BEGIN}    {statement}\n{_END}"], capture_output=True, text=True, check=False
    )


def test_threads_and_exit_handlers_end_before_the_process_and_everything_is_written() -> None:
    done = _end_with("sys.exit(5)")
    assert (done.stdout.split(), done.returncode) == (["done", "thread", "handler"], 5)


def test_exit_codes_are_those_of_python() -> None:
    assert _end_with("pass").returncode == 0
    assert _end_with("sys.exit()").returncode == 0
    said = _end_with("sys.exit('no')")
    assert (said.returncode, said.stderr.strip()) == (1, "no")
    broken = _end_with("1 / 0")
    assert broken.returncode == 1
    assert "ZeroDivisionError" in broken.stderr


def test_nothing_is_taken_down_after_the_exit_handlers() -> None:
    """A thread of a library that runs on while the interpreter is finalized is what aborts a process."""
    late = "sys.modules['kept'] = type('Kept', (), {'__del__': lambda self: print('taken down')})()"
    done = _end_with(late)
    assert (done.stdout.split(), done.returncode) == (["done", "thread", "handler"], 0)
