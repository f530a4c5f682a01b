"""Which Java Spark would find, told before it is started."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ignite_kafka.cli import local_run
from ignite_kafka.cli import main as cli
from ignite_kafka.errors import SettingsError
from ignite_kafka.runtime import java as java_check
from ignite_kafka.runtime.java import require_java


def java(folder: Path, version: str = "") -> Path:
    """A folder as JAVA_HOME names it."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    if version:
        (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder


def test_java_home_counts_before_the_path(tmp_path: Path) -> None:
    on_path = java(tmp_path / "a", "17.0.15")
    require_java({"PATH": f"/nowhere:{on_path / 'bin'}"})
    require_java({"PATH": "/nowhere", "JAVA_HOME": str(on_path)})
    with pytest.raises(SettingsError) as caught:
        require_java({"PATH": str(on_path / "bin"), "JAVA_HOME": str(tmp_path / "b")})
    assert f"JAVA_HOME is not the folder of one: {tmp_path}/b/bin/java is no program [JAVA HOME {tmp_path}/b]" in str(caught.value)
    assert f"Install Java {java_check._OLDEST} or newer" in str(caught.value)


def test_no_java_at_all_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="JAVA_HOME is not set, and no folder of PATH has a program java") as caught:
        require_java({"PATH": str(tmp_path)})
    assert caught.value.where == {"PATH": str(tmp_path)}


@pytest.mark.parametrize(("version", "told"), [("1.8.0_402", 8), ("11.0.22", 11)])
def test_an_old_java_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, told: int) -> None:
    monkeypatch.setattr(java_check, "_OLDEST", 17)
    with pytest.raises(SettingsError, match=f"needs Java 17 or newer, and this is Java {told} "):
        require_java({"JAVA_HOME": str(java(tmp_path / "old", version))})


def test_spark_3_5_takes_java_11(tmp_path: Path) -> None:
    code = (
        f"import pyspark; pyspark.__version__ = '3.5.9'; from ignite_kafka.runtime.java import require_java; "
        f"require_java({{'JAVA_HOME': {str(java(tmp_path / 'old', '11.0.22'))!r}}})"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


def test_a_script_of_spark_s_configuration_may_set_its_own(tmp_path: Path) -> None:
    (tmp_path / "spark-env.sh").touch()
    require_java({"PATH": "/nowhere", "SPARK_CONF_DIR": str(tmp_path)})


def test_a_run_without_pyspark_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.json").write_text('{"name": "c"}')
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert cli.main(["run", str(tmp_path / "c.json")]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"ignite-kafka: SettingsError a run needs PySpark, which is not installed in {sys.prefix}")


def test_a_run_ends_with_2_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/no/such/java")
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.setattr(local_run, "preflight", lambda *_: pytest.fail("clusters were asked"))
    (tmp_path / "c.json").write_text('{"name": "c"}')
    assert cli.main(["run", str(tmp_path / "c.json")]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("ignite-kafka: SettingsError Spark needs Java, and JAVA_HOME is not")
