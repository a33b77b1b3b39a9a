"""Contracts as people write them: they load, and every value knows its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lakelogic.contract import Contract, load_contract
from lakelogic.core.errors import Place

CUSTOMERS = """\
source:
  path: s3://inbox/people/*.json
  load_mode: incremental
  watermark_strategy: pipeline_log   # files that no run has seen

model:
  fields:
    - name: person_id
      type: string
      required: true
    - name: mail
      required: true
      pii: true
      masking: "encrypt"

transformations:
  - sql: "LOWER(TRIM(mail)) AS mail"

quality:
  row_rules:
    - sql: "mail LIKE '%@%.%'"
service_levels:
  freshness_hours: 24

materialization:
  strategy: merge
  primary_key: [person_id]
  target_path: main.silver.people
"""


@pytest.fixture
def customers(tmp_path: Path) -> Contract:
    path = tmp_path / "people.yaml"
    path.write_text(CUSTOMERS)
    return load_contract(path)


def test_a_short_contract_loads_as_it_stands(customers: Contract) -> None:
    assert customers.dataset == "people"
    assert customers.source is not None and customers.source.format == "json"
    assert customers.primary_key == ("person_id",)
    mail = customers.model.field("mail")
    assert mail is not None and mail.type == "string"
    assert mail.masking is not None and mail.masking.strategy == "encrypt"
    assert customers.transformations[0].phase == "pre"
    assert customers.service_levels.freshness_hours == 24
    assert customers.materialization is not None
    assert customers.materialization.target_path == "main.silver.people"


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        ("source.path", 2, 9),
        ("source.watermark_strategy", 4, 23),
        ("model.fields.1.masking", 14, 16),
        ("model.fields.1.masking.strategy", 14, 16),
        ("transformations.0", 17, 5),
        ("transformations.0.sql", 17, 10),
        ("quality.row_rules.0.sql", 21, 12),
        ("quality.row_rules.0.name", 21, 7),
        ("materialization.strategy", 26, 13),
        ("materialization.format", 26, 3),
        ("primary_key", 27, 16),
        ("cost.currency", 1, 1),
    ],
)
def test_every_value_knows_its_place(customers: Contract, path: str, line: int, column: int) -> None:
    assert customers.at(path) == Place(str(customers.file), line, column, path)


def test_short_forms_know_their_place_by_their_long_names(contract: Callable[[str], Contract]) -> None:
    loaded = contract(
        """\
        transformations:
          - rename: { a: b }
          - filter: "x > 1"
          - json_extract: { field: lat, source: spot, path: "$.lat" }
            phase: post
        upstream: [other]
        schema_policy: strict
        model: { fields: [{ name: a, allowed_values: [x] }] }
        """
    )
    steps = loaded.transformations
    assert loaded.at(f"{steps[0].path}.mapping.a").column == 18
    assert loaded.at(f"{steps[0].path}.mapping").column == 13
    assert loaded.at(f"{steps[1].path}.sql").column == 13
    assert loaded.at(f"{steps[2].path}.json_path").column == 53
    assert loaded.at(f"{steps[2].path}.phase").line == 5
    assert loaded.at("upstream.0.dataset").column == 12
    assert loaded.at("schema_policy.evolution").column == 16
    assert loaded.at("model.fields.0.accepted_values").column == 46


def test_the_example_layers_of_a_lakehouse_load(contract: Callable[[str], Contract]) -> None:
    gold = contract(
        """
        dataset: gold_daily_sales
        upstream: [silver_sales]
        source: { type: table, path: "abfss://lake@account.dfs.core.windows.net/silver/sales" }
        transformations:
          - rollup:
              group_by: [sale_date]
              aggregations:
                total: "SUM(amount)"
                orders: "COUNT(*)"
              keys: "sale_id"
        materialization: { strategy: merge, primary_key: [sale_date], target_path: out/daily }
        lineage: { enabled: true, capture_run_id: true, preserve_upstream: ["_lakelogic_run_id"] }
        """
    )
    assert gold.source is not None and (gold.source.type, gold.source.format) == ("table", "delta")
    assert gold.transformations[0].phase == "post"


def test_a_lifecycle_rule_loads(contract: Callable[[str], Contract]) -> None:
    loaded = contract(
        """
        links: [{ name: members, path: lake/members }]
        quality:
          row_rules:
            - lifecycle_window:
                event_ts: happened_at
                event_key: member_id
                reference: members
                reference_key: id
                start_field: joined
                end_field: left
                end_default: "9999-12-31"
        """
    )
    rule = loaded.quality.row_rules[0]
    assert rule.kind == "lifecycle_window" and rule.end_default == "9999-12-31"


def test_a_contract_is_frozen(customers: Contract) -> None:
    with pytest.raises(ValueError, match="frozen"):
        customers.dataset = "other"  # type: ignore[misc]
