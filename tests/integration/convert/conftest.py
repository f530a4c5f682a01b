"""The caches that a Java client wrote, for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.java_caches import Read, java_caches
from tools.servers import IgniteCluster, Jars


@pytest.fixture(scope="session")
def read(ignite: IgniteCluster, jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Read]]:
    """``read(name)``: the entries of that cache."""
    with java_caches(ignite, jars, tmp_path_factory.mktemp("classes")) as reader:
        yield reader
