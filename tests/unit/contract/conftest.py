"""Loading contracts from text, as if it stood in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from lakelogic.contract import Contract, Draft, load_draft

Load = Callable[..., Draft]


@pytest.fixture
def draft(tmp_path: Path) -> Load:
    def load(
        text: str,
        *,
        environ: Mapping[str, str] | None = None,
        env: str | None = None,
        stage: str | None = None,
        overrides: Sequence[str] = (),
    ) -> Draft:
        path = tmp_path / "orders.yaml"
        path.write_text(dedent(text), encoding="utf-8")
        return load_draft(path, environ=environ or {}, env=env, stage=stage, overrides=overrides)

    return load


@pytest.fixture
def contract(draft: Load) -> Callable[[str], Contract]:
    def load(text: str) -> Contract:
        loaded = draft(text)
        assert loaded.problems == (), "\n".join(map(str, loaded.problems))
        assert loaded.contract is not None
        return loaded.contract

    return load
