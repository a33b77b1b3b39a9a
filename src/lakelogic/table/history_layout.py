"""The columns of a history: those that it has, and those that observations carry while versions are computed."""

from __future__ import annotations

from dataclasses import dataclass

from lakelogic.plan.model import HIDDEN_PREFIX
from lakelogic.plan.writes import WriteScd2

# Columns of observations, beside those of the source.
AT = f"{HIDDEN_PREFIX}at"  # since when
GONE = f"{HIDDEN_PREFIX}gone"  # the key is deleted
BATCH = f"{HIDDEN_PREFIX}batch"  # store: which batch wrote it
COVERED = f"{HIDDEN_PREFIX}covered"  # store: columns whose values are those of the version around it
ORIGIN = f"{HIDDEN_PREFIX}origin"
OLD_TO = f"{HIDDEN_PREFIX}old_to"  # table: the end and the number that the version has now
OLD_VERSION = f"{HIDDEN_PREFIX}old_version"
OLD_FILE = f"{HIDDEN_PREFIX}old_file"  # table: the mark of the file that the version stands in
SINCE = f"{HIDDEN_PREFIX}since"  # the first instant that the batch speaks of, per key
KIND, OP = f"{HIDDEN_PREFIX}kind", f"{HIDDEN_PREFIX}op"  # of results
CHANGE, REMEMBER = "change", "remember"

FROM_TABLE, FROM_STORE, FROM_BATCH = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a history by their use."""

    write: WriteScd2
    columns: tuple[str, ...]  # of the table, in order

    @property
    def source(self) -> tuple[str, ...]:
        """What the states are made of."""
        return (*self.write.tracked, *self.write.untracked)

    @property
    def lineage(self) -> tuple[str, ...]:
        write = self.write
        others = {*write.keys, write.timestamp, *self.source, *write.made, write.surrogate}
        return tuple(name for name in self.columns if name not in others)

    @property
    def carried(self) -> tuple[str, ...]:
        return (*self.source, *self.lineage)
