"""Links that name a dataset instead of a path: found by the contract that writes it."""

from __future__ import annotations

from collections.abc import Callable

from lakelogic.contract.contract import Contract
from lakelogic.contract.links import Link
from lakelogic.contract.loader import load_contract
from lakelogic.contract.policy_pack import PackChoice
from lakelogic.contract.registry_files import find_contract_file
from lakelogic.core.errors import ContractError, Problem
from lakelogic.core.settings import Settings
from lakelogic.run.places import find_places

FindContract = Callable[[str], Contract | None]


def resolve_links(contract: Contract, settings: Settings, find: FindContract) -> Contract:
    """The contract with a path for each link; raises with every dataset that has none."""
    if not any(link.dataset and link.path is None for link in contract.links):
        return contract
    problems: list[Problem] = []
    links = tuple(_resolve(contract, index, settings, find, problems) for index in range(len(contract.links)))
    if problems:
        raise ContractError(problems)
    return contract.model_copy(update={"links": links})


def find_in_registries(contract: Contract, env: str | None) -> FindContract:
    """Look datasets up in the registries above a contract."""

    def find(dataset: str) -> Contract | None:
        file = find_contract_file(dataset, contract.file.parent)
        packs = PackChoice(folder=contract.policy_pack_folder)
        return load_contract(file, env=env, packs=packs) if file is not None else None

    return find


def _resolve(contract: Contract, index: int, settings: Settings, find: FindContract, problems: list[Problem]) -> Link:
    link = contract.links[index]
    if link.dataset is None or link.path is not None:
        return link
    place = contract.at(f"links.{index}.dataset")
    other = find(link.dataset)
    if other is None:
        hint = "list its contract in a `_registry.yaml` above this one (or in one that it `uses`), or name the `path`"
        problems.append(Problem("LL179", f"no registry has a contract of dataset `{link.dataset}`", place, hint))
        return link
    target = find_places(other, settings).target
    if target is None or other.materialization is None:
        hint = f"set materialization.target_path in {other.file}"
        problems.append(Problem("LL179", f"the contract of `{link.dataset}` writes no table", place, hint))
        return link
    return link.model_copy(update={"path": target.path, "format": link.format or other.materialization.format})
