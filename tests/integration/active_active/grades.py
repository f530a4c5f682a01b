"""Objects with a grade, which two clusters put and remove: the greater grade decides before the time of writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyignite import GenericObjectMeta
from pyignite.datatypes import IntObject

from tests.integration.active_active.clusters import RANKED
from tools.servers import IgniteCluster

Grade: Any = GenericObjectMeta("Grade", (), {}, schema={"grade": IntObject})
"""Value of the cache."""


def put_grades(cluster: IgniteCluster, grades: Mapping[int, int]) -> None:
    """Put objects with these grades, by key."""
    with cluster.client() as client:
        client.get_or_create_cache(RANKED).put_all({key: Grade(grade=grade) for key, grade in grades.items()})


def remove_grades(cluster: IgniteCluster, keys: Iterable[int]) -> None:
    """Remove keys."""
    with cluster.client() as client:
        client.get_cache(RANKED).remove_keys(list(keys))


def grades(cluster: IgniteCluster) -> dict[int, int]:
    """Grades of all entries, by key."""
    with cluster.client() as client:
        client.register_binary_type(Grade)
        entries: dict[int, Any] = dict(client.get_cache(RANKED).scan())
        return {key: value.grade for key, value in entries.items()}
