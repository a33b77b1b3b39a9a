"""From a tree to a model: what is wrong is reported and left out, until the rest fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from lakelogic.contract.positions import Part, value_of
from lakelogic.contract.translate import Finding, translate
from lakelogic.contract.yaml_tree import YamlMap
from lakelogic.core.errors import Problem

_MAX_ROUNDS = 12  # each takes something away, so that a few are enough for any real file
Kind = TypeVar("Kind", bound=BaseModel)


def make_model(
    model: type[Kind], tree: YamlMap, complete: Callable[[YamlMap], Mapping[str, Any]] = lambda tree: tree
) -> tuple[Kind | None, list[Problem]]:
    """Make the model of a tree, whose broken parts are taken out of it; `complete` adds what no file says."""
    problems: list[Problem] = []
    for number in range(_MAX_ROUNDS):
        try:
            return model.model_validate(complete(tree)), problems
        except ValidationError as error:
            findings = [translate(each, tree, model) for each in error.errors(include_url=False)]
        # What is missing after the first round may be missing because it was taken out.
        problems += [
            finding.problem
            for finding in findings
            if (number == 0 or finding.problem.code != "LL111") and finding.problem not in problems
        ]
        _take_out(tree, findings)
    return None, problems


def _take_out(tree: YamlMap, findings: Sequence[Finding]) -> None:
    culprits = {finding.culprit for finding in findings}
    outermost = [path for path in culprits if not any(path[:depth] in culprits for depth in range(len(path)))]
    # From the back, so that the indexes of those before stay right.
    for path in sorted(outermost, key=_sort_key, reverse=True):
        _remove(tree, path)


def _sort_key(path: tuple[Part, ...]) -> tuple[tuple[int, str], ...]:
    return tuple((part, "") if isinstance(part, int) else (-1, part) for part in path)


def _remove(tree: YamlMap, path: tuple[Part, ...]) -> None:
    if not path:
        for key in list(tree):
            tree.remove(key)
        return
    parent: Any = value_of(tree, path[:-1])
    parent.remove(path[-1])
    # An empty item would only be wrong in another way.
    if not parent and isinstance(parent, YamlMap):
        _remove(tree, path[:-1])
