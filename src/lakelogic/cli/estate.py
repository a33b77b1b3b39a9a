"""Options of commands that work on an estate: its files, and which of its datasets are meant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lakelogic.driver.select import Selection

EstatePaths = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FOLDER|REGISTRY...", help="Folders with contracts, or registries (_registry.yaml).", show_default=False
    ),
]
Registries = Annotated[
    list[Path] | None,
    typer.Option("--registry", help="A registry of contracts. May be given again.", show_default=False),
]
ReferenceRegistry = Annotated[
    list[Path] | None,
    typer.Option("--reference-registry", help="The registry of reference data.", show_default=False),
]
GoldRegistry = Annotated[
    list[Path] | None,
    typer.Option("--gold-registry", help="The registry of data products.", show_default=False),
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        help="Datasets, tag:pii, layer:gold, entity:..., path:..., domain:...; `+name` with what it builds on, `name+` "
        "with what builds on it. Blanks or a second option add up, commas must all hold.",
        show_default=False,
    ),
]
Exclude = Annotated[
    list[str] | None, typer.Option("--exclude", help="What to leave out, written like --select.", show_default=False)
]
Layers = Annotated[
    list[str] | None,
    typer.Option("--layers", help="Only these layers: reference,bronze,silver,gold.", show_default=False),
]
Entities = Annotated[
    list[str] | None,
    typer.Option("--entities", help="Only these entities of the registries: policies,claims.", show_default=False),
]


def selection(
    select: list[str] | None, exclude: list[str] | None, layers: list[str] | None, entities: list[str] | None
) -> Selection:
    """The options as they were given."""
    from lakelogic.driver.select import Selection, split_words

    return Selection(tuple(select or ()), tuple(exclude or ()), split_words(layers), split_words(entities))


def registry_files(*options: list[Path] | None) -> tuple[Path, ...]:
    return tuple(path for option in options for path in option or ())
