"""What a Spark that we start is told, by where it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic.core.settings import Settings
from lakelogic.engine.spark.conf import CALL_SETTINGS, COMPILES_HUGE_METHODS, HUGE_METHODS, is_local, start_conf


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    for name in ("io.delta_delta-spark_4.2_2.13-4.4.0.jar", "io.delta_delta-storage-4.4.0.jar"):
        (tmp_path / name).touch()
    return Settings(jars=tmp_path)


@pytest.mark.parametrize(
    ("master", "local"),
    [("local", True), ("local[*]", True), ("local[2,4]", True), ("local-cluster[2,1,1024]", False),
     ("spark://host:7077", False), ("yarn", False), ("k8s://https://host", False)],
)  # fmt: skip
def test_only_a_local_master_does_the_work_in_the_driver(master: str, local: bool) -> None:
    assert is_local(master) is local


def test_a_cluster_gets_the_jars_and_keeps_what_is_its_own(settings: Settings) -> None:
    conf = start_conf(settings, "spark://host:7077")
    assert [Path(jar).name for jar in conf["spark.jars"].split(",")] == sorted(
        path.name for path in settings.jars.iterdir()
    )
    own = {"spark.driver.host", "spark.driver.bindAddress", "spark.driver.memory", "spark.sql.shuffle.partitions"}
    assert not own & conf.keys()
    assert own <= start_conf(settings, "local[2]").keys()
    assert conf["spark.sql.session.timeZone"] == "UTC"


def test_a_local_spark_copies_no_jars(settings: Settings) -> None:
    conf = start_conf(settings, "local[4]")
    assert "spark.jars" not in conf
    assert len(conf["spark.driver.extraClassPath"].split(":")) == 2
    assert conf["spark.sql.shuffle.partitions"] == "8"


@pytest.mark.parametrize("master", ["local[2]", "spark://host:7077"])
def test_large_methods_are_compiled_only_by_a_jvm_that_was_told_to(settings: Settings, master: str) -> None:
    conf = start_conf(settings, master)
    assert "-XX:-DontCompileHugeMethods" in conf["spark.driver.extraJavaOptions"]
    assert conf[HUGE_METHODS] == "65535"
    assert COMPILES_HUGE_METHODS in conf, "calls know that this JVM was told to"
    assert CALL_SETTINGS[HUGE_METHODS] == "8000", "a session of somebody else's was not"
