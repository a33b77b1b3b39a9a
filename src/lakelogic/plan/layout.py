"""How rows lie in files: the columns that maintenance sorts them by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import Problem
from lakelogic.plan.relation import unknown_column


def find_layout_mistakes(contract: Contract, known: Sequence[str] | None) -> Iterator[Problem]:
    """Sort columns that the target lacks or is partitioned by; `known` is None where its columns cannot be told."""
    materialization = contract.materialization
    if materialization is None:
        return
    zorder_by = materialization.maintenance.zorder_by if materialization.maintenance else ()
    places = (("maintenance.zorder_by", zorder_by), ("cluster_by", materialization.cluster_by))
    for path, names in places:
        for index, name in enumerate(names):
            place = contract.at(f"materialization.{path}.{index}")
            if name in materialization.partition_by:
                hint = "each partition has one value of it; leave it out"
                yield Problem("LL175", f"`{name}` is a partition column, files cannot be sorted by it", place, hint)
            elif known is not None and name not in known and not name.startswith("_"):
                yield unknown_column(name, known).at(place)
