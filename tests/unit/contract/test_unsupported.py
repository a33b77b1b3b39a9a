"""What is not built is refused, never ignored; what is documentation is accepted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakelogic.contract import Contract, Draft

REFUSED = [
    "source: { type: api, path: x }",
    "source: { path: a, format: iceberg }",
    "source: { kafka: { bootstrap_servers: b, topic: t, schema_registry: r } }",
    "source: { kafka: { bootstrap_servers: b, topic: t, value_format: avro } }",
    "external_logic: { path: a.py }",
    "materialization: { format: iceberg }",
    "materialization: { unknown_member: { key: '-1' } }",
    "notifications: [{ on: failure, to: 'mailto://a' }]",
    "tests: [{ name: t, given: [{ a: 1 }], expect: { quarantined: 1 } }]",
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_built_is_refused(draft: Callable[..., Draft], text: str) -> None:
    (problem,) = draft(text).problems
    assert problem.code == "LL190" and problem.message.endswith("is not supported yet")
    assert problem.place is not None and problem.place.column > 1


def test_what_people_read_is_accepted(contract: Callable[[str], Contract]) -> None:
    loaded = contract(
        """
        info: { title: Orders, target_layer: silver, tags: [a] }
        metadata: { cost_centre: "4711", nested: { a: [1, { b: 2 }] } }
        upstream: [bronze_orders, { dataset: ref_countries, freshness: { max_age: 6h, on_stale: warn } }]
        downstream: [{ type: dashboard, name: Sales }]
        consumers: [a]
        service_levels:
          freshness: { threshold: 24h, field: updated_at }
          row_count: { min: 1 }
          completeness: { email: 0.99 }
          anomaly: { metrics: [row_count] }
        breaking_change_policy: { notice_days: 14, approval_required_from: team }
        compliance: { regulations: [GDPR], retention: 400d, ai_act: { risk: limited } }
        cost: { budget_monthly: 100 }
        materialization:
          merge: { insert_only: false, delete_when: null }
          dq_flags: false
        """
    )
    assert [upstream.dataset for upstream in loaded.upstream] == ["bronze_orders", "ref_countries"]
    assert loaded.metadata == {"cost_centre": "4711", "nested": {"a": (1, {"b": 2})}}
    assert type(loaded.metadata["nested"]) is dict
