"""Comparisons of connectors in a test's Spark session, and their counts."""

from __future__ import annotations

from typing import Any

from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.verification.connector import verify_connector
from ignite_kafka.verification.direction import Judged
from ignite_kafka.verification.result import VerifyOptions
from tests.support.sink_connector import Sink
from tests.support.snapshot_world import World
from tests.support.stream_world import World as StreamWorld


def verified(world: World | StreamWorld | Sink, settings: ConnectorSettings | None = None, **options: Any) -> dict[str, Judged]:
    """Compare, and return the results by the last part of the cache's name."""
    found = verify_connector(world.spark, settings or world.settings, Secrets(), None, VerifyOptions(**options))
    return {one.result.cache.rpartition("-")[2]: one for one in found.caches}


def counts(judged: Judged) -> tuple[int, int, int, int, int]:
    """Entries, records, missing, different and unexpected keys."""
    result = judged.result
    return result.entries, result.records, result.missing, result.different, result.unexpected
