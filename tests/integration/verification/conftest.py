"""The caches and connectors of the tests of sources and of sinks."""

from tests.integration.sink.conftest import sink
from tests.integration.source.conftest import fresh, stream, world

__all__ = ["fresh", "sink", "stream", "world"]
