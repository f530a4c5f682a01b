"""Versions of the library and of the packages that it uses, for reports."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from platform import python_version

_OWN = "airflow-provider-ignite-kafka"
_PACKAGES = ("pyspark", "confluent-kafka", "numpy", "pyarrow", "polars", "apache-airflow")


def installed_versions() -> dict[str, str]:
    """Return the versions of the installed packages by name, without importing them."""
    versions = {"ignite-kafka": _version(_OWN) or "not installed as a package", "Python": python_version()}
    return versions | {package: version for package in _PACKAGES if (version := _version(package))}


def library_version() -> str:
    """Return the version of this package; ``unknown`` in a checkout that is not installed."""
    return _version(_OWN) or "unknown"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def versions_text(versions: Mapping[str, str]) -> str:
    """Return versions as one line, such as ``Python 3.11.7, pyarrow 26.0.1``."""
    return ", ".join(f"{package} {version}" for package, version in versions.items())
