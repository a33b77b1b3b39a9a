"""The MERGE that applies change events, as text."""

from __future__ import annotations

from lakelogic.plan.writes import WriteCdc
from lakelogic.table.cdc_sql import render_cdc

_COLUMNS = ["id", "v", "gone", "_lakelogic_position", "_lakelogic_deleted_position"]


def test_hard_deletes_remove_rows_and_never_insert_what_is_older() -> None:
    columns = ["id", "v", "_lakelogic_position"]
    made = render_cdc("/t", "s", WriteCdc(("id",)), columns, predicate="TRUE", truncate=None, known={})
    assert made.count("WHEN ") == 3
    assert "THEN DELETE" in made and "NOT MATCHED BY SOURCE" not in made
    assert "UPDATE SET t.`v` = s.`v`, t.`_lakelogic_position` = s.`_lakelogic_position` " in made


def test_a_value_that_no_newer_event_told_stays() -> None:
    write = WriteCdc(("id",), "gone")
    made = render_cdc("/t", "s", write, _COLUMNS, predicate="TRUE", truncate=None, known={"v": "k0"})
    kept = "t.`v` = CASE WHEN coalesce(s.`k0`, '') > coalesce(t.`_lakelogic_position`, '') THEN s.`v` ELSE t.`v` END"
    assert kept in made
    assert "THEN DELETE" not in made


def test_a_truncate_reaches_rows_that_the_batch_does_not_name() -> None:
    cut = ("'n015 2'", "timestamp_micros(7)")
    hard = render_cdc("/t", "s", WriteCdc(("id",)), ["id"], predicate="TRUE", truncate=cut, known={})
    assert "WHEN NOT MATCHED BY SOURCE AND coalesce(t.`_lakelogic_position`, '') < 'n015 2' THEN DELETE" in hard
    soft = render_cdc("/t", "s", WriteCdc(("id",), "gone", "at"), _COLUMNS, predicate="TRUE", truncate=cut, known={})
    assert "t.`at` = CASE WHEN TRUE THEN timestamp_micros(7) END" in soft
