"""Links that are read once for several contracts: a Parquet file that all of them read."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

from lakelogic.engine.polars.reader import read_link
from lakelogic.engine.polars.relations import Relations, settled
from lakelogic.engine.protocol import KeptLink
from lakelogic.plan.model import LinkRead


def keep_link(relations: Relations, link: LinkRead, folder: str) -> KeptLink:
    """Write the rows of a link to a file; they are in memory only while they are read."""
    path = Path(folder) / f"{uuid.uuid4().hex}.parquet"
    settled(read_link(relations, link)).sink_parquet(path, compression="zstd")
    kept = replace(link, path=str(path), format="parquet", options={})
    return KeptLink(kept, lambda: path.unlink(missing_ok=True))
