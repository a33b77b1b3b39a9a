"""Of the files above contracts: registries, domains, systems."""

from __future__ import annotations

ESTATE: dict[str, dict[str, str]] = {
    "Registry": {
        "description": "What the registry is for.",
        "entries": "The entities and their contracts.",
        "uses": "Other registries, relative to this file, whose datasets these contracts build on.",
        "external": "Datasets that something else writes; they may stand under `upstream`.",
    },
    "RegistryEntry": {
        "entity": "Name of the entity, as in --entities.",
        "enabled": "Whether its contracts run.",
        "contracts": "Its contracts by layer.",
    },
    "LayerContracts": {
        "reference": "Contracts of reference data, relative to the registry.",
        "bronze": "Contracts of raw data, relative to the registry.",
        "silver": "Contracts of cleaned data, relative to the registry.",
        "gold": "Contracts of data products, relative to the registry.",
    },
    "Domain": {
        "domain": "Name of the domain; inherited as info.domain.",
        "description": "What the domain is about.",
        "owner": "Who answers for the data; inherited as info.owner.",
        "contacts": "Where to ask; the first is inherited as info.contact.",
        "cost_centre": "Who pays; inherited as metadata.cost_centre.",
        "service_levels": "What readers may rely on; inherited.",
        "budget": "What the whole domain may cost.",
        "alerts": "Who is told about what; inherited as notifications.",
        "defaults": "Part of a contract that all contracts below build on.",
    },
    "Budget": {"monthly": "Budget per month.", "currency": "Currency of the budget."},
    "System": {
        "system": "Name of the system; inherited as info.system.",
        "description": "What the system is.",
        "owner": "Who answers for the data; inherited as info.owner.",
        "contacts": "Where to ask; the first is inherited as info.contact.",
        "service_levels": "What readers may rely on; inherited.",
        "environments": "What differs in an environment, chosen with --env.",
    },
    "Pack": {
        "version": "Of this pack, three numbers.",
        "description": "What the pack is for.",
        "defaults": "Part of a contract; the contract's own values win.",
        "quality": "Rules that are added to those of the contract; its switches are defaults.",
        "transformations": "Steps for contracts of every layer.",
        "transformations_mode": "Where the steps go: before the contract's, after them, or instead of them.",
        "reference_transformations": "Steps for contracts of reference data.",
        "bronze_transformations": "Steps for Bronze contracts.",
        "silver_transformations": "Steps for Silver contracts.",
        "gold_transformations": "Steps for Gold contracts.",
    },
    "SystemSettings": {
        "storage": "Roots of storage by name, for `${storage.name}` in contracts; relative to this file.",
        "engine": "What runs the contracts below; inherited.",
        "spark": "Settings of the Spark session; inherited.",
        "defaults": "Part of a contract that all contracts below build on.",
    },
}
