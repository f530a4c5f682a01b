"""The wheel, built and installed away from the checkout, runs the snapshot from there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.airflow_home import ROOT, AirflowHome
from tests.support.oracle import read_committed
from tools.servers import IgniteCluster, KafkaBroker

CACHE = "weather"  # one of those that the example lists
EXAMPLES = "airflow_provider_ignite_kafka/example_dags"
ENTRIES = 1_000


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of what version control would hold, so that no build folder is left in the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder / "dist"),
        str(sources(folder / "checkout")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    [built] = (folder / "dist").glob("*.whl")
    return built


def sources(copy: Path) -> Path:
    copy.mkdir()
    files = [ROOT / name for name in ("pyproject.toml", "README.md", "LICENSE", "setup.cfg", "setup.py") if (ROOT / name).exists()]
    files += [
        path for folder in ("airflow_provider_ignite_kafka", "dags", "spark_apps") for path in (ROOT / folder).rglob("*") if path.is_file()
    ]
    for path in files:
        if "__pycache__" in path.parts or any(part.endswith(".egg-info") for part in path.parts):
            continue
        target = copy / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    return copy


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of a new environment with the wheel; its dependencies are lent by this one, without the checkout's own packages."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(command, check=True, capture_output=True, env=clean())
    own = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    lend(Path(sysconfig.get_path("purelib")), own)
    return python


def lend(dependencies: Path, own: Path) -> None:
    """Links to what is installed here, one by one: an editable install of the checkout is left behind."""
    for entry in dependencies.iterdir():
        ours = "ignite_kafka" in entry.name.replace("-", "_")
        if not ours and entry.suffix != ".pth" and entry.name != "__pycache__" and not (own / entry.name).exists():
            (own / entry.name).symlink_to(entry)


def test_wheel_holds_both_packages_the_app_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {
        "airflow_provider_ignite_kafka",
        "ignite_kafka",
        "ignite_to_kafka.py",
        "kafka_to_ignite.py",
        "verify_connector.py",
    }
    sources = {str(path.relative_to(ROOT / "spark_apps")) for path in (ROOT / "spark_apps").rglob("*.py")}
    sources |= {str(path.relative_to(ROOT)) for path in (ROOT / "airflow_provider_ignite_kafka").rglob("*.py")}
    sources |= {f"{EXAMPLES}/{path.name}" for path in (ROOT / "dags").glob("*.py")}
    assert sources <= set(names)
    assert {"ignite_kafka/runtime/log4j2.properties", "ignite_kafka/py.typed", "airflow_provider_ignite_kafka/py.typed"} <= set(names)


def test_a_plain_install_of_the_wheel_requires_no_airflow(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    required = [
        line.removeprefix("Requires-Dist: ") for line in archive.read(name).decode().splitlines() if line.startswith("Requires-Dist")
    ]
    plain = {re.split(r"[<>=!]", line)[0] for line in required if "extra ==" not in line}
    assert plain == {"PyYAML", "click", "confluent-kafka", "numpy", "polars", "pyarrow", "rich"}
    assert any(re.match("apache-airflow[<>=]", line) and "airflow" in line.partition("extra ==")[2] for line in required)


def test_everything_is_imported_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = "import airflow_provider_ignite_kafka as a, ignite_kafka as k, ignite_to_kafka as m; print(a.__file__, k.__file__, m.__file__)"
    done = subprocess.run([installed, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path, env=clean())
    assert all(path.startswith(str(installed.parents[1])) for path in done.stdout.split())
    assert str(ROOT) not in done.stdout.replace(tempfile.gettempdir(), "")  # temporary files may be in the checkout


def test_airflow_and_the_command_line_find_the_installed_package(installed: Path, tmp_path: Path) -> None:
    environment = {**clean(), "AIRFLOW_HOME": str(tmp_path)}
    listed = subprocess.run(
        [installed, "-m", "airflow", "providers", "list", "-o", "plain"], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert "airflow-provider-ignite-kafka" in listed.stdout
    done = subprocess.run([installed.with_name("ignite-kafka"), "--help"], capture_output=True, text=True, check=True, env=environment)
    assert "validate" in done.stdout


def test_airflow_finds_every_example_of_the_installed_package(installed: Path, tmp_path: Path) -> None:
    code = """
import json
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag

[bundle] = [found for found in DagBundlesManager().get_all_dag_bundles() if found.name.startswith("airflow-provider-ignite-kafka")]
bag = DagBag(bundle.path, load_op_links=False)
print(json.dumps([str(bundle.path), bag.import_errors, {dag.fileloc for dag in bag.dags.values()}], default=sorted))
"""
    environment = {**clean(), "AIRFLOW_HOME": str(tmp_path), "AIRFLOW__CORE__LOAD_EXAMPLES": "True"}
    done = subprocess.run([installed, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    folder, errors, files = json.loads(done.stdout.splitlines()[-1])
    assert folder == str(examples(installed))
    assert errors == {}
    assert {Path(file).name for file in files} == {path.name for path in (ROOT / "dags").glob("*.py")}


def examples(installed: Path) -> Path:
    """Folder of the examples of the installed wheel."""
    [folder] = installed.parents[1].glob(f"lib/*/site-packages/{EXAMPLES}")
    return folder


def test_the_page_of_the_first_copy_runs_as_it_is_written(
    installed: Path, ignite: IgniteCluster, kafka: KafkaBroker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    """All commands of the page, with the addresses of these servers; the copy runs from the wheel."""
    cache = unique("wheel")
    with ignite.client() as client:
        client.get_or_create_cache(cache).put_all({key: f"person {key}" for key in range(ENTRIES)})
    page = first_copy_page(ignite.address, kafka.bootstrap, cache)
    home = AirflowHome(tmp_path / "airflow", tmp_path / "dags", {}, python=str(installed), python_path="").migrate()
    home.dags.mkdir()
    [settings], [dag] = blocks(page, "json"), blocks(page, "python")
    (tmp_path / "first.json").write_text(settings)
    (home.dags / "first_copy.py").write_text(dag)
    outputs = {}
    for command in "".join(blocks(page, "bash")).splitlines():
        words = shlex.split(command)
        program = [str(installed), "-m", "airflow"] if words[0] == "airflow" else [str(installed.with_name(words[0]))]
        done = subprocess.run(
            [*program, *words[1:]], cwd=tmp_path, env=home.env(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-5_000:]}"
        outputs[" ".join(words[:2])] = done.stdout
    assert "a run will find what it needs" in outputs["ignite-kafka doctor"]
    assert re.search(rf"{cache} +first-{cache} +{ENTRIES:,} .* yes", outputs["ignite-kafka verify"]), outputs
    assert "COMPLETED" in outputs["ignite-kafka status"]
    assert home.states("first_copy") == ["success"]
    assert sum(read_committed(kafka.client_config, f"first-{cache}").counts().values()) == ENTRIES
    assert str(ROOT) not in outputs["airflow dags"].replace(tempfile.gettempdir(), "")


def first_copy_page(ignite: str, kafka: str, cache: str) -> str:
    """The page with addresses and a cache that exist."""
    page = (ROOT / "docs" / "first-copy.md").read_text()
    host, port = ignite.split(":")
    for written, here in (
        ("node-1:10800", ignite),
        ("--conn-host node-1 --conn-port 10800", f"--conn-host {host} --conn-port {port}"),
        ("broker-1:9092", kafka),
        ("airlines", cache),
    ):
        assert written in page
        page = page.replace(written, here)
    return page


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def clean() -> dict[str, str]:
    """This environment without paths of Python's own."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "AIRFLOW", "PYSPARK", "SPARK"))}
