"""Validation warns of table features that other readers lack, at their place, and fails nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic.run.validate import load_checked, validate_contract

_CONTRACT = """\
dataset: rows
source: {{ path: input.csv }}
model: {{ fields: [{{ name: id, type: int }}] }}
materialization:
  target_path: out
  table_properties:
    my.own: x
    {key}: {value}
"""


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("delta.enableDeletionVectors", "true", "deletion vectors"),
        ("delta.enableDeletionVectors", "false", None),
        ("delta.columnMapping.mode", "name", "column mapping"),
        ("delta.columnMapping.mode", "none", None),
        ("delta.enableIcebergCompatV2", "true", "column mapping"),
        ("delta.feature.deletionVectors", "supported", "deletion vectors"),
        ("delta.feature.timestampNtz", "supported", None),
        ("delta.checkpointPolicy", "v2", "checkpoints of version 2"),
        ("delta.enableTypeWidening", "true", "type widening"),
        ("delta.enableRowTracking", "true", None),
        ("delta.appendOnly", "true", None),
    ],
)
def test_a_feature_that_readers_lack_is_a_warning(key: str, value: str, told: str | None, tmp_path: Path) -> None:
    contract = tmp_path / "contract.yaml"
    contract.write_text(_CONTRACT.format(key=key, value=value))
    found = validate_contract(contract)
    assert [(problem.code, problem.severity) for problem in found] == ([("LL181", "warning")] if told else [])
    for problem in found:
        assert told is not None and told in problem.message
        assert problem.place is not None and problem.place.line == 8
    assert load_checked(contract).dataset == "rows"
