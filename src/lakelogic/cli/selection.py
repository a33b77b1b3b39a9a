"""Which contracts a command works on: files, folders, and of those only some."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakelogic.core.errors import RunError
from lakelogic.driver.files import find_contracts

if TYPE_CHECKING:
    from lakelogic.contract.contract import Contract

ContractPaths = Annotated[
    list[Path],
    typer.Argument(metavar="CONTRACT...", help="Contracts, or folders that are searched for them.", show_default=False),
]
Layer = Annotated[
    str | None,
    typer.Option(help="Only contracts of this layer (info.target_layer), e.g. silver.", show_default=False),
]
Wait = Annotated[float, typer.Option(metavar="SECONDS", min=0, help="How long to wait for a run of the dataset.")]


def select_contracts(
    paths: list[Path], *, layer: str | None, env: str | None, stage: str | None, overrides: list[str] | None
) -> list[Contract]:
    """The contracts, all of them without a mistake, before anything is done to the first."""
    from lakelogic.run.validate import load_checked

    files = sorted(set(find_contracts(paths)))
    found = [load_checked(file, env=env, stage=stage, overrides=tuple(overrides or ())) for file in files]
    chosen = [contract for contract in found if layer is None or contract.info.target_layer == layer]
    if not chosen:
        what = f"none of {len(found)} contracts is of layer `{layer}`" if layer and found else "no contracts found"
        raise RunError(what, hint="name contracts or a folder that has some", code="LL483")
    return chosen


def spark_opener(processor: Any) -> Any:
    """What opens Spark when it is needed; None where the operator chose an engine without it."""
    return processor.open_spark if processor.engine_name == "spark" else None
