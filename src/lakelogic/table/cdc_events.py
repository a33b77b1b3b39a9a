"""What the footers of staged change events tell of a batch, before a row of it is read."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import HIDDEN_PREFIX
from lakelogic.plan.writes import WriteCdc
from lakelogic.table.cdc_sql import KNOWN_AT
from lakelogic.table.protocol import TableShape
from lakelogic.table.stats import read_stats


def has_values(path: str, files: Sequence[StagedFile], name: str) -> bool:
    """Whether a staged column holds anything; in doubt, yes."""
    footers = (read_stats(os.path.join(path, file.path)) for file in files)
    return any(name in stats.columns and stats.nulls.get(name) != stats.rows for stats in footers)


def has_truncates(path: str, files: Sequence[StagedFile], key: str) -> bool:
    """Only a truncate has no key."""
    for file in files:
        if key in file.partition:
            found = file.partition[key] is None
        else:
            found = read_stats(os.path.join(path, file.path)).nulls.get(key) != 0
        if found:
            return True
    return False


def known_columns(shape: TableShape, write: WriteCdc) -> dict[str, str]:
    """Columns whose value an event may leave untold, and the column that says which event told it last."""
    names = [c.name for c in shape.columns if c.name not in write.keys and not c.name.startswith(HIDDEN_PREFIX)]
    marks = (write.soft_column, write.time_column, write.reason_column)
    return {name: f"{KNOWN_AT}{number}" for number, name in enumerate(names) if name not in marks}


def text_literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
