"""One sentence per key, for editors and for the reference pages; a module for each part of the grammar."""

from __future__ import annotations

from lakelogic.contract.descriptions.about import ABOUT
from lakelogic.contract.descriptions.estate import ESTATE
from lakelogic.contract.descriptions.model import MODEL
from lakelogic.contract.descriptions.promises import PROMISES
from lakelogic.contract.descriptions.quality import QUALITY
from lakelogic.contract.descriptions.source import SOURCE
from lakelogic.contract.descriptions.steps import STEPS
from lakelogic.contract.descriptions.target import TARGET

# Class name to key to sentence; a key that several classes inherit stands with the class that declares it.
DESCRIPTIONS: dict[str, dict[str, str]] = {
    **ABOUT,
    **ESTATE,
    **SOURCE,
    **MODEL,
    **STEPS,
    **QUALITY,
    **TARGET,
    **PROMISES,
}


def find_description(model: type, key: str) -> str | None:
    """The sentence about a key of a model, its own or inherited."""
    for cls in model.__mro__:
        sentence = DESCRIPTIONS.get(cls.__name__, {}).get(key)
        if sentence:
            return sentence
    return None
