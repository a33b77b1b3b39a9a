"""Templates for orchestrators: what can be checked of them without the orchestrator.

`make templates` runs those of Airflow, Dagster and Prefect on the tools themselves.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from lakelogic.cli.driver import pipeline_command

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = ROOT / "templates"
FILES = sorted(path for path in TEMPLATES.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
# Options of other programs: spark-submit and pip.
FOREIGN = {"--archives", "--conf", "--packages", "--format"}


def driver_options() -> set[str]:
    app = typer.Typer()
    app.command()(pipeline_command)
    command = typer.main.get_command(app)
    return {name for option in command.params for name in option.opts}


@pytest.mark.parametrize("file", FILES, ids=lambda path: str(path.relative_to(TEMPLATES)))
def test_every_option_in_a_template_is_one_of_the_driver(file: Path) -> None:
    used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", file.read_text()))
    assert used <= driver_options() | FOREIGN


@pytest.mark.parametrize("file", [path for path in FILES if path.suffix == ".py"], ids=lambda path: path.stem)
def test_python_templates_parse(file: Path) -> None:
    assert ast.get_docstring(ast.parse(file.read_text()))


def test_the_state_machine_is_whole() -> None:
    machine = json.loads((TEMPLATES / "aws/step_functions.asl.json").read_text())
    states: dict[str, dict[str, Any]] = machine["States"]
    ways = {machine["StartAt"]}
    for state in states.values():
        ends = state["Type"] in {"Fail", "Succeed"} or state.get("End") is True
        assert ends != ("Next" in state)
        ways |= {state["Next"]} if "Next" in state else set()
        ways |= {each["Next"] for each in state.get("Catch", ())}
    assert ways == set(states)


@pytest.mark.parametrize("platform", ["azure_data_factory", "synapse", "fabric"])
def test_activities_and_parameters_of_a_pipeline_are_named_before_they_are_used(platform: str) -> None:
    text = (TEMPLATES / platform / "pipeline.json").read_text()
    pipeline = json.loads(text)["properties"]
    names = [activity["name"] for activity in pipeline["activities"]]
    for position, activity in enumerate(pipeline["activities"]):
        assert {each["activity"] for each in activity.get("dependsOn", ())} <= set(names[:position])
    assert set(re.findall(r"pipeline\(\)\.parameters\.(\w+)", text)) == set(pipeline["parameters"])


def test_tasks_of_the_databricks_job_come_after_tasks_that_exist() -> None:
    job = yaml.safe_load((TEMPLATES / "databricks/job.yml").read_text())["resources"]["jobs"]["lakelogic_estate"]
    clusters = {each["job_cluster_key"] for each in job["job_clusters"]}
    seen: set[str] = set()
    for task in job["tasks"]:
        assert {each["task_key"] for each in task.get("depends_on", ())} <= seen
        assert task["job_cluster_key"] in clusters
        assert task["python_wheel_task"]["entry_point"] == "lakelogic-driver"
        seen.add(task["task_key"])
    layers = [parameters[parameters.index("--layers") + 1] for parameters in _parameters(job)]
    assert ",".join(layers) == "reference,bronze,silver,gold"


def _parameters(job: dict[str, Any]) -> list[list[str]]:
    return [task["python_wheel_task"]["parameters"] for task in job["tasks"]]


def test_the_page_names_every_template() -> None:
    page = (ROOT / "docs/job_templates.md").read_text()
    missing = [str(path.relative_to(ROOT)) for path in FILES if str(path.relative_to(ROOT)) not in page]
    assert missing == []
