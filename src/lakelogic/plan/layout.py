"""How rows lie in files: the columns that maintenance sorts them by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lakelogic.contract.contract import Contract
from lakelogic.contract.source import is_catalog_name
from lakelogic.core.errors import Problem
from lakelogic.plan.relation import unknown_column


def find_layout_mistakes(contract: Contract, known: Sequence[str] | None) -> Iterator[Problem]:
    """Sort columns that the target lacks or is partitioned by; `known` is None where its columns cannot be told."""
    materialization = contract.materialization
    if materialization is None:
        return
    yield from _parquet_mistakes(contract)
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


def _parquet_mistakes(contract: Contract) -> Iterator[Problem]:
    """Plain Parquet is a folder of files: what needs a log, a catalog or a protocol is not for it."""
    given = contract.materialization
    if given is None or given.format != "parquet":
        return
    dotted = given.target_path is not None and is_catalog_name(given.target_path)
    asked = (
        ("strategy", f"strategy `{given.strategy}`", given.strategy not in ("append", "overwrite")),
        ("table_properties", "a table property", bool(given.table_properties)),
        ("maintenance", "maintenance", given.maintenance is not None),
        ("cluster_by", "a clustering", bool(given.cluster_by)),
        ("target_path", "a name in a catalog", dotted),
    )
    for key, what, is_asked in asked:
        if is_asked:
            place = contract.at(f"materialization.{key}")
            hint = "use format delta; Parquet takes append and overwrite into a folder"
            yield Problem("LL176", f"plain Parquet does not have {what}", place, hint)
