"""Options about policy packs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lakelogic.contract.policy_pack import PackChoice

PolicyPack = Annotated[
    list[str] | None,
    typer.Option(
        "--policy-pack",
        metavar="NAME",
        help="A policy pack for the contracts, beside those that they name. May be given again.",
        show_default=False,
    ),
]
PolicyPackDir = Annotated[
    Path | None,
    typer.Option(
        "--policy-pack-dir",
        metavar="FOLDER",
        envvar="LAKELOGIC_POLICY_PACK_DIR",
        help="Where packs are; else `policy_packs` beside each contract, or the nearest above it that has the pack.",
        show_default=False,
    ),
]


def pack_choice(names: list[str] | None, folder: Path | None) -> PackChoice:
    """The options as they were given."""
    from lakelogic.contract.policy_pack import PackChoice

    return PackChoice(tuple(names or ()), folder)
