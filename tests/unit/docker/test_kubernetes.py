"""Manifests and recipe for Kubernetes: they name each other's objects, paths and apps, and the page of the set-up does so, too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ignite_kafka.app import Arguments

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "docker" / "kubernetes"
DEPLOY = (ROOT / "docs" / "deploy.md").read_text()
RECIPE = (FOLDER / "Dockerfile").read_text()
SPARK_USER = 185


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


@pytest.fixture
def spec() -> dict[str, Any]:
    [document] = documents("spark-application.yaml")
    return dict(document["spec"])


def test_the_role_is_bound_to_the_account_of_the_driver(spec: dict[str, Any]) -> None:
    account, role, binding = documents("rbac.yaml")
    name = account["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": name}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert spec["driver"]["serviceAccount"] == name
    assert f'"spark.kubernetes.authenticate.driver.serviceAccountName": "{name}"' in DEPLOY


def test_the_driver_may_create_pods_and_read_no_secret() -> None:
    _, role, _ = documents("rbac.yaml")
    [rule] = role["rules"]
    assert rule["apiGroups"] == [""]
    assert {"pods", "services", "configmaps"} <= set(rule["resources"])
    assert "secrets" not in rule["resources"]
    assert "*" not in rule["verbs"]


def test_request_and_secrets_are_mounted_where_the_arguments_name_them(spec: dict[str, Any]) -> None:
    arguments = Arguments.parse(spec["arguments"])
    volumes = {volume["name"] for volume in spec["volumes"]}
    driver = {mount["mountPath"]: mount["name"] for mount in spec["driver"]["volumeMounts"]}
    executor = {mount["mountPath"]: mount["name"] for mount in spec["executor"]["volumeMounts"]}
    assert arguments.mounted_secrets is not None
    assert {str(Path(arguments.request).parent), str(Path(arguments.mounted_secrets).parent)} <= set(driver)
    assert str(Path(arguments.mounted_secrets).parent) in executor
    assert {*driver.values(), *executor.values()} <= volumes
    assert f'secrets_file="{arguments.mounted_secrets}"' in DEPLOY


def test_only_the_process_and_its_group_can_read_the_secrets(spec: dict[str, Any]) -> None:
    [pod] = documents("pod.yaml")
    for volumes, contexts in (
        (pod["spec"]["volumes"], [pod["spec"]["securityContext"]]),
        (spec["volumes"], [spec[part]["podSecurityContext"] for part in ("driver", "executor")]),
    ):
        [secret] = [volume["secret"] for volume in volumes if "secret" in volume]
        assert secret["defaultMode"] == 0o440
        assert all((context["fsGroup"], context["runAsUser"]) == (SPARK_USER, SPARK_USER) for context in contexts)
    assert RECIPE.rstrip().endswith("USER spark")


def test_the_app_is_where_the_recipe_puts_it(spec: dict[str, Any]) -> None:
    app = Path(spec["mainApplicationFile"].removeprefix("local://"))
    assert f"pathlib.Path('{app.parent}')" in RECIPE
    named = re.findall(r"'(\w+\.py)'", RECIPE)
    assert app.name in named
    assert sorted(named) == sorted(path.name for path in (ROOT / "spark_apps").glob("*.py"))


def test_page_and_recipe_install_alike_for_one_spark(spec: dict[str, Any]) -> None:
    [block] = re.findall(r"^```dockerfile\n(.*?)^```", DEPLOY, re.DOTALL | re.MULTILINE)
    assert all(line in RECIPE.splitlines() for line in block.splitlines())
    assert f"FROM apache/spark:{spec['sparkVersion']}-python3" in RECIPE
