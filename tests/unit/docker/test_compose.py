"""What can be held of docker/ without an engine: the compose file's form, what it names, the Dockerfiles' lint, the versions."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose

from tools.servers.jars import CHECKOUT, IGNITE_JAVA_OPTIONS

DOCKER = CHECKOUT / "docker"
DOCKERFILES = [DOCKER / "Dockerfile", DOCKER / "ignite" / "Dockerfile"]
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
POM = {"m": "http://maven.apache.org/POM/4.0.0"}


def test_the_compose_file_keeps_to_the_specification() -> None:
    # YAML's merge keys and the defaults of variables are resolved first, as docker compose does
    PyCompose.from_yaml(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", yaml.safe_dump(COMPOSE)))


def test_a_setting_that_the_specification_does_not_know_is_refused() -> None:
    wrong = {**COMPOSE, "services": {"kafka": {**SERVICES["kafka"], "portz": 1}}}
    with pytest.raises(ValueError, match="portz"):
        PyCompose.from_yaml(yaml.safe_dump(wrong))


def test_the_compose_file_has_every_part_of_the_deployment() -> None:
    assert set(SERVICES) >= {"ignite-1", "ignite-2", "kafka", "spark-master", "spark-worker", "airflow-scheduler", "airflow-api-server"}


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if "build" in service])
def test_build_targets_exist(name: str) -> None:
    build = SERVICES[name]["build"]
    dockerfile = (DOCKER / build["context"] / build["dockerfile"]).resolve()
    assert dockerfile in DOCKERFILES
    stages = re.findall(r"^FROM \S+ AS (\S+)$", dockerfile.read_text(), re.MULTILINE)
    assert build.get("target") in [None, *stages]


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: str(path.relative_to(DOCKER)))
def test_files_that_dockerfiles_copy_exist(dockerfile: Path) -> None:
    for line in re.findall(r"^COPY (?!--from)(.*)$", dockerfile.read_text(), re.MULTILINE):
        for source in line.split()[:-1]:
            assert (CHECKOUT / source).exists(), source


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: str(path.relative_to(DOCKER)))
def test_dockerfiles_pass_the_linter(dockerfile: Path) -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    checked = subprocess.run([hadolint, "--no-color", dockerfile], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")


def test_dependencies_volumes_and_secrets_of_services_are_declared() -> None:
    for name, service in SERVICES.items():
        assert set(service.get("depends_on", [])) <= set(SERVICES), name
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"]), name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (DOCKER / source).is_dir(), volume


def test_ports_are_published_on_loopback_only() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_the_compose_file_has_no_password() -> None:
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD(?!S_FILE)|SECRET|FERNET|JWT", name):
                assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), name


def test_every_variable_of_the_compose_file_is_in_the_example() -> None:
    used = set(re.findall(r"\$\{(\w+)", (DOCKER / "compose.yaml").read_text()))
    given = set(re.findall(r"^(\w+)=", (DOCKER / "env.example").read_text(), re.MULTILINE))
    assert used == given


def test_images_have_the_versions_of_the_tests() -> None:
    kafka = ET.parse(CHECKOUT / "pom.xml").findtext("m:properties/m:kafka.version", namespaces=POM)
    assert re.search(rf"image: apache/kafka@sha256:\w+ # {re.escape(str(kafka))}$", (DOCKER / "compose.yaml").read_text(), re.MULTILINE)
    pythons = set(re.findall(r"python:?(\d\.\d+)", DOCKERFILES[0].read_text()))
    assert pythons == {f"{sys.version_info.major}.{sys.version_info.minor}"}


def test_ignite_images_have_the_java_options_of_the_tests() -> None:
    options = (DOCKER / "ignite" / "java.opts").read_text().split()
    assert set(options) >= set(IGNITE_JAVA_OPTIONS)


def test_third_party_images_are_pinned_by_digest() -> None:
    bases = [line for file in DOCKERFILES for line in re.findall(r"^FROM (\S+)", file.read_text(), re.MULTILINE)]
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILES[0].read_text(), re.MULTILINE))
    images = [service["image"] for service in SERVICES.values() if "build" not in service]
    foreign = [image for image in (*bases, *images) if image not in stages]
    assert len(foreign) == 6
    for image in foreign:
        assert re.fullmatch(r"[a-z/-]+(:[\w.-]+)?@sha256:[0-9a-f]{64}", image), image


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_has_no_capability_and_a_read_only_root(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert "/tmp" in service["tmpfs"]


def test_packages_of_images_are_installed_by_hash() -> None:
    text = "".join(file.read_text() for file in DOCKERFILES)
    installs = re.findall(r"pip install [^&\n]*", text)
    assert installs
    assert all("--require-hashes" in install or install.endswith("/tmp/wheels/*.whl") for install in installs)


def test_maven_checks_checksums_wherever_it_runs() -> None:
    calls = re.compile(r"""\bmvn["']?,?(?= +["']?--?[A-Za-z]).*""")  # of a shell, and of a list of Python
    files = [CHECKOUT / "Makefile", *(CHECKOUT / ".ci").rglob("*"), *DOCKER.rglob("*"), *(CHECKOUT / "tools").rglob("*.py")]
    files += (CHECKOUT / "tests").rglob("*.py")
    found = {file: calls.findall(file.read_text(errors="replace")) for file in files if file.is_file() and file != Path(__file__).resolve()}
    assert {CHECKOUT / "Makefile", CHECKOUT / "tests" / "backlog" / "test_junit.py", DOCKER / "ignite" / "Dockerfile"} <= {
        file for file, lines in found.items() if lines
    }
    assert [(str(file), line) for file, lines in found.items() for line in lines if "--strict-checksums" not in line] == []


def _mib(size: str) -> int:
    found = re.fullmatch(r"(?:\$\{\w+:-)?(\d+)([mg]?)\}?", size)
    assert found, size
    return int(found[1]) * (1024 if found[2] == "g" else 1)


def test_the_file_says_first_that_it_is_not_for_production() -> None:
    first, *rest = (DOCKER / "compose.yaml").read_text().splitlines()
    assert first.startswith("# Not for production")
    comment = " ".join(line.removeprefix("#").strip() for line in [first, *rest[: rest.index("name: ignite-kafka")]])
    for part in ("Ignite", "Kafka", "Spark", "Airflow", "no login", "without TLS", "docs/security.md"):
        assert part in comment
    listened = (
        SERVICES["kafka"]["environment"]["KAFKA_LISTENERS"],
        SERVICES["spark-master"]["command"],
        SERVICES["airflow-api-server"]["ports"],
    )
    ports = {"10800", *re.findall(r"(?<!\d)\d{4,5}(?!\d)", str(listened))}
    assert len(ports) == 6
    assert ports <= set(re.findall(r"\d{4,5}", comment)), "what is open, by port"


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_has_a_limit_of_memory(name: str) -> None:
    assert _mib(SERVICES[name]["mem_limit"]) >= 256


@pytest.mark.parametrize("name", ["ignite-1", "ignite-2"])
def test_heap_and_regions_of_ignite_are_within_its_limit(name: str) -> None:
    given = SERVICES[name]["environment"]
    used = sum(_mib(given[part]) for part in ("IGNITE_HEAP", "IGNITE_REGION_MIB", "IGNITE_BACKLOG_MIB"))
    assert used + 512 <= _mib(SERVICES[name]["mem_limit"])  # threads, code, direct buffers, and the node's own regions


def test_only_airflow_reaches_its_database() -> None:
    assert COMPOSE["networks"]["database"] == {"internal": True}
    members = {name for name, service in SERVICES.items() if "database" in service.get("networks", [])}
    assert members == {"postgres", *(name for name in SERVICES if name.startswith("airflow-"))}
    assert SERVICES["postgres"]["networks"] == ["database"]
