"""Tests of other versions of the servers: their folders, the Java that they run on, and the remedy where jars are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.servers import Jars, MissingJars, jars


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with the jars of pom.xml; no variable is set."""
    for name, file in {
        "ignite": "ignite-core-2.17.0",
        "kafka": "kafka-clients-4.3.1",
        "backlog": "b",
        "registry": "r",
        "converter": "c",
        "yarn": "y",
    }.items():
        add(tmp_path / "jars" / name, file)
    monkeypatch.setattr(jars, "WORK", tmp_path)
    monkeypatch.setattr(jars, "VERSIONS", tmp_path / "versions")
    for variable in ("TEST_IGNITE_VERSION", "TEST_KAFKA_VERSION", "TEST_JAVA"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


def add(folder: Path, jar: str) -> None:
    folder.mkdir(parents=True)
    (folder / f"{jar}.jar").touch()


def test_without_a_variable_the_jars_are_those_of_pom_xml(checkout: Path) -> None:
    found = Jars.of_checkout()
    assert found.ignite == checkout / "jars" / "ignite"
    assert (found.ignite_version, found.kafka_version) == ((2, 17, 0), (4, 3, 1))


def test_a_variable_names_another_version(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(checkout / "versions" / "ignite-2.14.0", "ignite-core-2.14.0")
    monkeypatch.setenv("TEST_IGNITE_VERSION", "2.14.0")
    found = Jars.of_checkout()
    assert (found.ignite, found.ignite_version) == (checkout / "versions" / "ignite-2.14.0", (2, 14, 0))
    assert found.kafka == checkout / "jars" / "kafka"


def test_the_version_of_pom_xml_needs_no_other_jars(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_IGNITE_VERSION", "2.17.0")
    assert Jars.of_checkout().ignite == checkout / "jars" / "ignite"


def test_missing_jars_of_a_version_are_named_with_the_command_that_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KAFKA_VERSION", "3.9.1")
    with pytest.raises(MissingJars, match=r"no jars of kafka in .*kafka-3.9.1: run `python -m tools.servers.versions kafka 3.9.1`"):
        Jars.of_checkout()


@pytest.mark.parametrize(
    ("folder", "old"), [("ignite-2.12.0", True), ("ignite-2.13.0", False), ("kafka-2.8.2", True), ("kafka-4.4.0", False)]
)
def test_versions_that_do_not_run_on_java_17_have_java_11(checkout: Path, folder: str, old: bool) -> None:
    command = jars.java_command("Main", [], [checkout, checkout / "versions" / folder])
    assert command[0] == (str(jars.JAVA_11) if old else "java")


def test_a_variable_names_the_java_of_other_versions_only(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_JAVA", "/opt/java-8/bin/java")
    assert jars.java_of([checkout / "versions" / "ignite-2.9.1"]) == "/opt/java-8/bin/java"
    assert jars.java_of([checkout / "jars" / "ignite"]) == "java"
