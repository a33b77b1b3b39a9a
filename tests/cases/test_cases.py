"""Every folder beside this file is a case, and every engine must come to the same result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lakelogic.testing.cases import Case, check_case, find_cases

CASES = find_cases(Path(__file__).parent)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_contract_gives_the_expected_rows_and_reasons(engine: str, session: Any, case: Case, tmp_path: Path) -> None:
    differences = check_case(case, engine, tmp_path, spark=session)
    assert not differences, "\n".join(differences)
