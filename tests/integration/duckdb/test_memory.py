"""How much memory DuckDB takes: it must write to disk before the kernel ends the process."""

from __future__ import annotations

import pytest

from lakelogic.core.errors import RunError
from lakelogic.core.keys import derive_keys
from lakelogic.engine.duckdb.failures import translated
from lakelogic.engine.duckdb.session import Session, usual_memory_mib


@pytest.mark.parametrize(
    ("default", "wanted"),
    [("18.8 GiB", 19251), ("1.6 GiB", 1638), ("640.0 MiB", 400), ("409.6 MiB", 205), ("102.4 MiB", 51)],
)
def test_a_small_place_leaves_room_for_the_rest_of_the_process(default: str, wanted: int) -> None:
    assert usual_memory_mib(default) == wanted


def test_the_operator_says_how_much() -> None:
    session = Session(derive_keys(None), "300MiB")
    assert session.connection.execute("SELECT current_setting('memory_limit')").fetchall() == [("300.0 MiB",)]
    session.close()


def test_too_little_is_an_error_that_says_what_to_change() -> None:
    session = Session(derive_keys(None), "20MiB")
    with pytest.raises(RunError, match=r"LL488 .*Out of Memory") as caught, translated("sorting"):
        session.run("SELECT length(string_agg(i::VARCHAR, ',')) FROM range(20000000) t(i)").fetchall()
    session.close()
    assert "LAKELOGIC_DUCKDB_MEMORY" in (caught.value.problem.hint or "")
