"""A topic of two caches with equal keys, whose records name their cache in a header, and a sink of both."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.oracle import TopicRecord
from tests.support.servers import CACHE_TEMPLATE
from tests.support.sink_case import KEYS, SinkCase
from tests.support.sink_oracle import entries_of, number_of

_HEADER = "cache"
NAMES = ("orders", "returns")


@dataclass
class HeaderCase(SinkCase):
    """The entry of a key has the key as its number in the first cache; in the second, the number of all keys is added."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settings |= {
            "cache_header": _HEADER,
            "header_caches": list(NAMES),
            "cache_names": {f"({'|'.join(NAMES)})": f"{self.cache}-$1"},
        }
        with self.ignite.client() as client:
            for name in NAMES:
                client.get_or_create_cache(self.cache_of(name))

    def cache_of(self, name: str) -> str:
        """The cache of records with a name in the header."""
        return f"{CACHE_TEMPLATE}{self.name}-{name}"

    def headers(self) -> list[tuple[str, str | bytes | None]]:
        return [(_HEADER, self.chance.choice(NAMES).encode())]

    def entries(self) -> dict[int, int]:
        caches = [entries_of(self.ignite, self.cache_of(name)) for name in NAMES]
        return {key + KEYS * at: seq for at, found in enumerate(caches) for key, seq in found.items()}

    @staticmethod
    def entry_of(record: TopicRecord) -> int:
        named = dict(record.headers)[_HEADER] or b""
        return number_of(record) + KEYS * NAMES.index(named.decode())
