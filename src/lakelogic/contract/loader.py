"""Contracts from YAML files: all mistakes at once, each at its place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lakelogic.contract.checks import check_contract
from lakelogic.contract.contract import Contract
from lakelogic.contract.inherit import read_with_bases
from lakelogic.contract.layers import apply_overrides, choose_layer, merge, other_layers
from lakelogic.contract.mesh import Above, MeshFiles
from lakelogic.contract.model_of_tree import make_model
from lakelogic.contract.pack_files import PackFile, PackFiles, lay_defaults
from lakelogic.contract.pack_layers import add_packs, name_contract
from lakelogic.contract.placeholders import fill_placeholders
from lakelogic.contract.policy_pack import PackChoice
from lakelogic.contract.positions import Positions, value_of
from lakelogic.contract.translate import Finding, translate
from lakelogic.contract.unsupported import find_unsupported
from lakelogic.contract.yaml_tree import YamlMap
from lakelogic.core.errors import ContractError, Problem
from lakelogic.core.secrets import SecretStore, default_store


@dataclass(frozen=True, slots=True)
class Draft:
    """As much of a contract as could be understood, and all that is wrong with it."""

    contract: Contract | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a contract is loaded into: the chosen layers, what it inherits, where placeholders are filled from."""

    env: str | None
    stage: str | None
    overrides: tuple[str, ...]
    environ: Mapping[str, str]
    secrets: SecretStore
    above: Above
    packs: PackFiles


def load_contract(
    path: str | os.PathLike[str],
    *,
    env: str | None = None,
    stage: str | None = None,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] = os.environ,
    secrets: SecretStore | None = None,
    packs: PackChoice | None = None,
) -> Contract:
    """Load a contract; raises ContractError with every mistake in it."""
    draft = load_draft(path, env=env, stage=stage, overrides=overrides, environ=environ, secrets=secrets, packs=packs)
    if draft.problems or draft.contract is None:
        raise ContractError(draft.problems)
    return draft.contract


def load_draft(
    path: str | os.PathLike[str],
    *,
    env: str | None = None,
    stage: str | None = None,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] = os.environ,
    secrets: SecretStore | None = None,
    text: str | None = None,
    mesh: MeshFiles | None = None,
    packs: PackChoice | PackFiles | None = None,
) -> Draft:
    """Load what can be loaded; broken parts are left out, so that later checks can look at the rest.

    With `text`, that is loaded as if it stood in the file. `mesh` and `packs` remember files for the next contract.
    """
    store = secrets or default_store(environ)
    above = (mesh or MeshFiles(environ, store, env)).above(Path(path).parent)
    pack_files = packs if isinstance(packs, PackFiles) else PackFiles(packs or PackChoice(), environ, store)
    surroundings = Surroundings(env, stage, tuple(overrides), environ, store, above, pack_files)
    tree, problems = read_with_bases(Path(path), text, environ, store)
    problems += above.problems
    if not isinstance(tree, YamlMap):
        return Draft(None, tuple(problems))
    draft = _build(tree, str(path), surroundings, problems)
    return Draft(draft.contract, _in_order(draft.problems))


@dataclass(frozen=True, slots=True)
class _Laid:
    """The layers of a contract over each other, and what came with them."""

    base: YamlMap  # without stage, environment and overrides
    tree: YamlMap
    problems: tuple[Problem, ...]
    packs: tuple[PackFile, ...] = ()


def _build(own: YamlMap, file: str, surroundings: Surroundings, found: Sequence[Problem]) -> Draft:
    """Lay the layers over each other, fill the placeholders, and make the models."""
    above = surroundings.above
    laid = _with_packs(own, file, surroundings)
    filled = fill_placeholders(laid.tree, surroundings.environ, surroundings.secrets, above.storage)
    problems = [*found, *laid.problems, *filled.problems]
    contract, mistakes = make_model(Contract, filled.tree, lambda tree: _with_name(tree, Path(file).stem))
    problems += _not_seen_before(mistakes, problems)
    problems += _mistakes_in_other_layers(laid.base, surroundings)
    if contract is None:
        return Draft(None, tuple(problems))
    hidden = (*filled.hidden, *above.hidden)
    positions = contract._positions = Positions(file, filled.tree, hidden, tuple(above.roots.items()))
    contract._packs = tuple(pack.applied for pack in laid.packs)
    contract._pack_folder = surroundings.packs.folder
    together = [*find_unsupported(contract), *_not_seen_before(check_contract(contract), problems)]
    together = name_contract(together, (pack.file for pack in laid.packs), contract.dataset)
    problems += [_hide_filled(problem, positions) for problem in together]
    return Draft(contract, tuple(problems))


def _with_packs(own: YamlMap, file: str, surroundings: Surroundings) -> _Laid:
    """Lay all layers; where they name policy packs, once more with these."""
    laid = _lay(own, surroundings)
    tree, problems = apply_overrides(laid.tree, surroundings.overrides)
    packs, found = surroundings.packs.choose(tree, Path(file).parent)
    if not packs:
        return _Laid(laid.base, tree, (*laid.problems, *problems, *found))
    laid = _lay(lay_defaults(packs, own), surroundings)
    tree, misfits = add_packs(laid.tree, packs, surroundings.stage)
    tree, problems = apply_overrides(tree, surroundings.overrides)
    return _Laid(laid.base, tree, (*laid.problems, *problems, *found, *misfits), packs)


def _lay(own: YamlMap, surroundings: Surroundings) -> _Laid:
    above = surroundings.above
    base = merge(above.tree, own) if above.tree is not None else own
    tree, stage_problems = choose_layer(base, "stages", surroundings.stage)
    tree, env_problems = choose_layer(tree, "environments", surroundings.env, above.environments)
    return _Laid(base, tree, (*stage_problems, *env_problems))


def _with_name(tree: YamlMap, stem: str) -> dict[str, Any]:
    information = tree.get("info")
    named = "dataset" in tree or (isinstance(information, dict) and "table_name" in information)
    return tree if named else {**tree, "dataset": stem}


def _mistakes_in_other_layers(tree: YamlMap, surroundings: Surroundings) -> list[Problem]:
    """Mistakes in stages and environments that were not chosen: found now, not on release day."""
    problems: list[Problem] = []
    for origin, layered in other_layers(tree, (surroundings.stage, surroundings.env)):
        try:
            Contract.model_validate(layered)
        except ValidationError as error:
            findings = [translate(each, layered) for each in error.errors(include_url=False)]
            problems += [each.problem for each in findings if _stands_in(layered, each, origin)]
    return problems


def _stands_in(tree: YamlMap, finding: Finding, origin: str) -> bool:
    node: Any = value_of(tree, finding.culprit[:-1])
    if not finding.culprit or node.mark_of(finding.culprit[-1]).origin != origin:
        return False
    # Placeholders of other layers are not filled: their variables may be set elsewhere only.
    value = node[finding.culprit[-1]]
    return not (isinstance(value, str) and "${" in value)


def _hide_filled(problem: Problem, positions: Positions) -> Problem:
    """Take values that came from outside out of a sentence."""
    path = problem.place.path if problem.place else ""
    hint = positions.hide(path, problem.hint) if problem.hint else None
    return replace(problem, message=positions.hide(path, problem.message), hint=hint)


def _not_seen_before(found: Iterable[Problem], problems: Sequence[Problem]) -> list[Problem]:
    # A value that could not be read is reported once, not again for what it then looks like.
    seen = {_position(problem) for problem in problems}
    return [problem for problem in found if _position(problem) not in seen]


def _in_order(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """In the order of the file, each once."""
    return tuple(sorted(dict.fromkeys(problems), key=_position))


def _position(problem: Problem) -> tuple[str, int, int]:
    place = problem.place
    return (place.file, place.line, place.column) if place else ("", 0, 0)
