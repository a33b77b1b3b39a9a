"""How many parts a scan is cut into."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lakelogic.engine.spark.splits import choose_parts

MIB = 2**20


def test_four_parts_and_a_rest_become_equal_parts_in_whole_rounds() -> None:
    assert choose_parts(420 * MIB, 128 * MIB, cores=2) == 4
    assert choose_parts(1200 * MIB, 128 * MIB, cores=2) == 10


def test_spark_keeps_its_own_way_with_one_round_or_many() -> None:
    assert choose_parts(200 * MIB, 128 * MIB, cores=2) is None
    assert choose_parts(50_000 * MIB, 128 * MIB, cores=2) is None
    assert choose_parts(420 * MIB, 128 * MIB, cores=None) is None


@given(st.integers(0, 10**12), st.integers(1, 10**9), st.integers(1, 500))
def test_law_parts_fill_whole_rounds_and_none_is_too_large(size: int, part_size: int, cores: int) -> None:
    parts = choose_parts(size, part_size, cores)
    if parts is not None:
        assert parts % cores == 0
        assert size / parts <= part_size
        assert size / (parts - cores) > part_size  # one round less would not do
