"""What it costs to find new files among known ones.

For several numbers of known files, 1,000 new ones are dropped among them. Printed are the seconds of: a bare listing
(the floor: every file's size and time has to be looked at), the choice of the next slice (listing and index), the
part that is ours (the difference), and preparing and committing the batch in the journal. The last two follow the
new files.

    python benchmarks/file_positions.py                    # 20,000 and 200,000 known files
    python benchmarks/file_positions.py --known 1000000
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from lakelogic.core.slices import FileSlice
from lakelogic.record.journal import Holder, Journal, open_journal
from lakelogic.source.listing import Listing
from lakelogic.source.next_slice import Position, next_slice

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FILES_PER_FOLDER = 1000
BATCH = 10_000


def drop_files(landing: Path, start: int, count: int) -> None:
    """Empty files: what is inside them is not looked at here."""
    for number in range(start, start + count):
        folder = landing / f"day={number // FILES_PER_FOLDER:05d}"
        if number % FILES_PER_FOLDER == 0:
            folder.mkdir(parents=True, exist_ok=True)
        os.close(os.open(folder / f"part-{number:08d}.csv", os.O_CREAT | os.O_WRONLY))


def commit(journal: Journal, slice_: FileSlice) -> None:
    holder = Holder("benchmark", 1, "run", NOW)
    batch = journal.prepare(slice_, run_id="run", fingerprint="", started_at=NOW, holder=holder)
    journal.mark_committed(journal.mark_staged(batch, {}))


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def choose(landing: Path, control: Path) -> FileSlice | None:
    journal = open_journal(str(control))
    position = Position(journal.known_files, journal.committed_table)
    chosen, _ = next_slice(str(landing), pattern="*.csv", load_mode="incremental", position=position)
    assert chosen is None or isinstance(chosen, FileSlice)
    return chosen


def measure(folder: Path, known: int, new: int) -> dict[str, float]:
    landing, control = folder / "landing", folder / "control"
    drop_files(landing, 0, known)
    everything = choose(landing, control)
    assert everything is not None
    for start in range(0, known, BATCH):
        commit(open_journal(str(control)), FileSlice(everything.files[start : start + BATCH]))
    del everything
    first = seconds(lambda: choose(landing, control))  # takes in what the batches above have read
    drop_files(landing, -(-known // FILES_PER_FOLDER) * FILES_PER_FOLDER, new)
    listing = min(seconds(lambda: sum(1 for _ in Listing(str(landing), "*.csv"))) for _ in range(3))
    choosing = min(seconds(lambda: choose(landing, control)) for _ in range(3))
    tracemalloc.start()
    chosen = choose(landing, control)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert chosen is not None and len(chosen.files) == new
    committing = seconds(lambda: commit(open_journal(str(control)), chosen))
    following = seconds(lambda: open_journal(str(control)).known_files())
    assert choose(landing, control) is None
    return {
        "listing_s": listing,
        "choosing_s": choosing,
        "ours_s": choosing - listing,
        "commit_s": committing,
        "follow_s": following,
        "first_follow_s": first - choosing,
        "peak_mb": peak / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--known", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--new", type=int, default=1000)
    asked = parser.parse_args()
    for known in asked.known:
        with tempfile.TemporaryDirectory(prefix="lakelogic-files-") as scratch:
            found = measure(Path(scratch), known, asked.new)
        told = "  ".join(f"{name} {value:.3f}" for name, value in found.items())
        print(f"{asked.new:,} new among {known:,} known:  {told}", flush=True)


if __name__ == "__main__":
    main()
