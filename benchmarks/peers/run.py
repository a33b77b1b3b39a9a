"""Other tools on the rows and rules of the checked load, each in an environment of its own; a line of JSON for each.

    python benchmarks/peers/run.py --rows 1000000
    python benchmarks/peers/run.py --rows 100000 --only soda pandera

Environments are made below --environments from PyPI, with the versions in environments.json. A tool that cannot be
installed or fails is a line that says so. `agrees` tells whether its verdicts are the right ones.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from workload import BAD, generate  # noqa: E402

PEERS: dict[str, Any] = json.loads((HERE / "environments.json").read_text())


def environment(name: str, folder: Path) -> Path:
    """The Python of a peer's environment, made where it is not there."""
    home, wanted = folder / name, PEERS[name]["requires"]
    python, done = home / "bin" / "python", home / "installed.json"
    if not done.exists() or json.loads(done.read_text()) != wanted:
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wanted], check=True, stdout=sys.stderr)
        done.write_text(json.dumps(wanted))
    return python


def try_peer(name: str, path: Path, options: argparse.Namespace) -> dict[str, Any]:
    try:
        python = environment(name, Path(options.environments))
        command = [str(python), str(HERE / f"peer_{name}.py"), "--input", str(path), "--repeat", str(options.repeat)]
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environ |= {"LAKELOGIC_JARS": str(jars())}
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, check=False, timeout=options.timeout
        )
        line = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
        if done.returncode or not line.startswith("{"):
            told = [each for each in done.stderr.strip().splitlines() if each.strip()]
            return {"did_not_run": told[-1][:300] if told else f"exit code {done.returncode}"}
        return judged(json.loads(line), options.rows)
    except subprocess.CalledProcessError as error:
        return {"did_not_run": f"could not be installed: {error.cmd[-1]}"}
    except subprocess.TimeoutExpired:
        return {"did_not_run": f"took longer than {options.timeout} s"}


def judged(line: dict[str, Any], rows: int) -> dict[str, Any]:
    """Two of a hundred rows are bad, one by its mail and one by its discount."""
    each = sum(1 for number in range(min(rows, 100)) if number in BAD[2][0]) * rows // min(rows, 100)
    if line["row_verdicts"]:
        right = (line["good"], line["bad"]) == (rows - 2 * each, 2 * each)
    else:
        right = sorted(line["failed"].values()) == [each, each] and line["read"] == rows
    return {**line, "agrees": right}


def jars() -> Path:
    from lakelogic.core.settings import read_settings

    return read_settings(os.environ).jars


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--timeout", type=int, default=900, help="seconds for all rounds of one peer")
    parser.add_argument("--only", nargs="+", choices=list(PEERS), default=list(PEERS))
    cache = Path(tempfile.gettempdir()) / "lakelogic-bench"
    parser.add_argument("--cache", default=str(cache), help="folder of generated input")
    parser.add_argument("--environments", default=str(cache / "peers"))
    options = parser.parse_args()
    path = generate(Path(options.cache), options.rows, "parquet")
    for name in options.only:
        print(f"{name} ...", file=sys.stderr, flush=True)
        print(json.dumps({"peer": name, "rows": options.rows, **try_peer(name, path, options)}), flush=True)


if __name__ == "__main__":
    main()
