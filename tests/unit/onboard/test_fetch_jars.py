"""Jars are fetched once, into the cache only, and never beside what Spark brings itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic.core.errors import RunError
from lakelogic.core.settings import read_settings
from lakelogic.onboard import fetch_jars as subject
from lakelogic.onboard.fetch_jars import DELTA_JAR, fetch_jars, has_jars


@pytest.mark.parametrize(
    ("jar", "artifact"),
    [
        ("avro-1.12.1.jar", "avro"),
        ("delta-spark_4.2_2.13-4.4.0.jar", "delta-spark_4.2_2.13"),
        ("jackson-datatype-jdk8-2.13.5.jar", "jackson-datatype-jdk8"),
        ("jline-3.29.0-jdk8.jar", "jline"),
    ],
)
def test_an_artifact_is_its_name_without_the_version(jar: str, artifact: str) -> None:
    assert subject._artifact(jar) == artifact


def test_jars_that_are_there_are_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / f"io.delta_{DELTA_JAR}").touch()
    settings = read_settings({"LAKELOGIC_JARS": str(tmp_path)})
    assert fetch_jars(settings, {}) == tmp_path


def test_a_named_folder_without_jars_is_refused_and_left_alone(tmp_path: Path) -> None:
    settings = read_settings({"LAKELOGIC_JARS": str(tmp_path)})
    with pytest.raises(RunError, match="unset LAKELOGIC_JARS"):
        fetch_jars(settings, {})
    assert list(tmp_path.iterdir()) == []


def test_without_java_the_error_says_how_to_get_it(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    environ = {"XDG_CACHE_HOME": str(tmp_path), "JAVA_HOME": str(tmp_path / "none")}
    with pytest.raises(RunError, match="install a Java runtime"):
        fetch_jars(read_settings(environ), environ)
    assert not has_jars(read_settings(environ).jars)


def test_what_spark_brings_itself_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        "spark/jars/avro-1.12.1.jar",
        "work/org.avro_avro-1.9.jar",
        f"work/io.delta_{DELTA_JAR}",
        "jars/old.jar",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(subject, "_find_spark", lambda: tmp_path / "spark")
    subject._publish(tmp_path / "work", tmp_path / "jars")
    assert [jar.name for jar in (tmp_path / "jars").iterdir()] == [f"io.delta_{DELTA_JAR}"]
