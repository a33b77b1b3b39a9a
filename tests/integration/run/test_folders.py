"""Folders in which delta-rs cannot keep a table are refused in words, before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic import DataProcessor
from lakelogic.core.errors import CapabilityError

_CONTRACT = """\
dataset: "{dataset}"
source: {{ path: input.csv }}
model: {{ fields: [{{ name: id, type: int }}] }}
materialization: {{ target_path: "{target}" }}
"""


def _run(folder: Path, target: str, dataset: str = "orders", state: str | None = None) -> int:
    folder.mkdir(parents=True)
    (folder / "input.csv").write_text("id\n1\nx\n")
    (folder / "contract.yaml").write_text(_CONTRACT.format(target=target.replace("\\", "\\\\"), dataset=dataset))
    environ = {"LAKELOGIC_STATE": state} if state else {}
    with DataProcessor(folder / "contract.yaml", engine="duckdb", environ=environ) as processor:
        return processor.run().counts.accepted


@pytest.mark.parametrize("found", ["[", "]", "\\", "^", "|", "%20"])
def test_a_folder_that_delta_rs_cannot_name_is_refused(found: str, tmp_path: Path) -> None:
    with pytest.raises(CapabilityError) as caught:
        _run(tmp_path / "a", f"lake{found}x/orders")
    assert caught.value.problem.code == "LL312"
    assert f"`{found}`" in str(caught.value)
    with pytest.raises(CapabilityError):
        _run(tmp_path / "b", "lake/orders", state=str(tmp_path / f"state{found}x"))
    assert not (tmp_path / "a" / f"lake{found}x").exists()
    assert not (tmp_path / "b" / "lake").exists()


@pytest.mark.parametrize("folder", ["lake {a}", "lake #1? *", "l'äke %$;,+=&@", "100%"])
def test_other_folders_and_names_of_datasets_are_taken(folder: str, tmp_path: Path) -> None:
    assert _run(tmp_path / "a", f"{folder}/orders", dataset="my orders [1] ^ %20 / x") == 1
