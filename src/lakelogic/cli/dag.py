"""`lakelogic dag`: which datasets build on which."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from lakelogic.cli.estate import (
    Entities,
    EstatePaths,
    Exclude,
    GoldRegistry,
    Layers,
    ReferenceRegistry,
    Registries,
    Select,
    registry_files,
    selection,
)
from lakelogic.cli.options import Debug, Env, Output, OutputFormat
from lakelogic.cli.render import print_json, print_text


class DagFormat(StrEnum):
    """How a graph is drawn."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    HTML = "html"
    JSON = "json"


Format = Annotated[DagFormat, typer.Option("--format", "-f", help="How it is drawn.")]


def dag_command(
    paths: EstatePaths = None,
    registry: Registries = None,
    reference_registry: ReferenceRegistry = None,
    gold_registry: GoldRegistry = None,
    select: Select = None,
    exclude: Exclude = None,
    layers: Layers = None,
    entities: Entities = None,
    form: Format = DagFormat.TEXT,
    env: Env = None,
    output: Output = OutputFormat.TABLE,
    debug: Debug = False,
) -> None:
    """Draw which datasets build on which: by `upstream`, by links, and by tables that another contract writes.

    \b
    Examples:
      lakelogic dag contracts/
      lakelogic dag contracts/ --select +gold_fact_sales
      lakelogic dag contracts/ --select tag:pii,layer:silver --format mermaid
      lakelogic dag contracts/insurance/_registry.yaml --layers bronze,silver --format dot
      lakelogic dag contracts/ --format html > estate.html
    """
    from lakelogic.driver.checks import build_dag
    from lakelogic.driver.draw import describe_dag, draw_dot, draw_mermaid, draw_text
    from lakelogic.driver.draw_html import draw_html
    from lakelogic.driver.estate import read_estate
    from lakelogic.driver.select import choose

    named = registry_files(registry, reference_registry, gold_registry)
    if not paths and not named:
        raise typer.BadParameter("name a folder, or a registry with --registry")
    estate = read_estate(paths or (), registries=named, env=env, checked=False)
    dag = build_dag(estate)
    dag = dag.part(choose(dag, selection(select, exclude, layers, entities)))
    match form if output is OutputFormat.TABLE else DagFormat.JSON:
        case DagFormat.JSON:
            print_json(describe_dag(dag))
        case DagFormat.MERMAID:
            print_text(draw_mermaid(dag))
        case DagFormat.DOT:
            print_text(draw_dot(dag))
        case DagFormat.HTML:
            print_text(draw_html(dag))
        case _:
            print_text(draw_text(dag))
