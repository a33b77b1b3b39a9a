"""Options that are known and not built yet: refused when they are used, never ignored."""

from __future__ import annotations

from typing import Annotated, Any

import typer


def _refuse(value: Any) -> Any:
    if value:
        raise typer.BadParameter("not supported yet")
    return value


def _later(option: str) -> Any:
    return typer.Option(
        option, callback=_refuse, help="Not supported yet.", show_default=False, rich_help_panel="Not supported yet"
    )


CacheReferences = Annotated[bool, _later("--cache-references")]
