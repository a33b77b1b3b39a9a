"""A watermark must fit the source and the strategy; what would lose or double rows is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakelogic.contract import Contract, Draft

MERGE = "\nmaterialization: { strategy: merge, primary_key: [id] }"
TARGET = "watermark_strategy: max_target"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("source: { path: a.csv, load_mode: incremental, watermark_field: at }", "read by `watermark_strategy"),
        (f"source: {{ path: a.csv, load_mode: incremental, {TARGET} }}{MERGE}", "needs a column"),
        (f"source: {{ path: a.csv, load_mode: incremental, {TARGET}, watermark_field: at }}", "reads rows again"),
        ("source: { path: a.csv, load_mode: incremental, lookback: 3d }", "reads rows again"),
        (f"source: {{ path: a.csv, lookback: 3d }}{MERGE}", "for incremental loads"),
        (f"source: {{ kafka: {{ bootstrap_servers: b, topic: t }}, lookback: 3d }}{MERGE}", "has no `lookback`"),
        (
            f"source: {{ path: a.csv, load_mode: incremental, {TARGET}, watermark_field: _lakelogic_processed_at }}",
            "a stamp of LakeLogic's own",
        ),
        (
            f"source: {{ path: a.csv, load_mode: incremental, {TARGET}, watermark_field: at }}{MERGE}\n"
            "model: { fields: [{ name: at, type: timestamp, masking: hash }] }",
            "is masked in the target",
        ),
        (
            f"source: {{ path: a.csv, load_mode: incremental, {TARGET}, watermark_field: born }}{MERGE}\n"
            "model: { fields: [{ name: born, type: date, pii: true }] }",
            "is marked `pii`",
        ),
    ],
)
def test_a_watermark_that_would_lose_or_double_rows_is_refused(
    draft: Callable[..., Draft], text: str, told: str
) -> None:
    (problem,) = draft(text).problems
    assert problem.code == "LL157" and told in problem.message
    assert problem.place is not None and problem.hint


@pytest.mark.parametrize(
    "text",
    [
        f"source: {{ path: a.csv, load_mode: incremental, {TARGET}, watermark_field: at, lookback: 1d }}{MERGE}",
        f"source: {{ path: a.csv, load_mode: incremental, lookback: 1d }}{MERGE}",
        f"source: {{ type: table, path: lake/a, load_mode: incremental, {TARGET}, "
        "watermark_field: _lakelogic_processed_at }",
    ],
)
def test_what_a_key_makes_safe_is_accepted(contract: Callable[[str], Contract], text: str) -> None:
    assert contract(text).source is not None
