"""Predicates of Kafka Connect: TopicNameMatches, HasHeaderKey, RecordIsTombstone.

Source: org.apache.kafka.connect.transforms.predicates (4.3.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...common.arrays import Mask
from ...java.patterns import check_pattern, matches_whole, pattern_remedy
from .batch import ConnectBatch
from .properties import ComponentProperties, Properties, Property
from .sides import present
from .thrown import CONNECT_EXCEPTION, Thrown

TOPIC_NAME_MATCHES: Properties = {"pattern": Property(not_empty=True)}
HAS_HEADER_KEY: Properties = {"name": Property(not_empty=True)}


@dataclass(frozen=True)
class TopicNameMatches:
    """Predicate: the whole name of the record's topic matches an expression in Java's syntax."""

    pattern: str

    def test(self, batch: ConnectBatch) -> Mask:
        """Return N flags: whether the topic's name matches; each distinct name is matched once.

        :raises Thrown: matching a name takes too many steps.
        """
        encoded = batch.topics.dictionary_encode()
        matches = [self._matches(name) for name in encoded.dictionary.to_pylist()]
        flags: Mask = np.array(matches, bool)[np.asarray(encoded.indices)]
        return flags

    def _matches(self, name: str) -> bool:
        try:
            return matches_whole(name, self.pattern)
        except ValueError as error:
            raise Thrown(
                f"expression {self.pattern!r} cannot be matched with topic {name}: {error}", CONNECT_EXCEPTION
            ) from None


@dataclass(frozen=True)
class HasHeaderKey:
    """Predicate: the record has a header with a name."""

    name: str

    def test(self, batch: ConnectBatch) -> Mask:
        """Return N equal flags, because the records of a batch have the same headers."""
        return np.full(len(batch), any(header.name == self.name for header in batch.headers))


class RecordIsTombstone:
    """Predicate: the record's value is null."""

    def test(self, batch: ConnectBatch) -> Mask:
        """Return N flags: whether the value is null."""
        return ~present(batch.value)


def topic_name_matches(config: ComponentProperties) -> TopicNameMatches:
    """Return the predicate for the given properties.

    :raises SettingsError: the expression cannot be used.
    """
    try:
        check_pattern(config["pattern"])
    except ValueError as error:
        raise config.refused("pattern", str(error), pattern_remedy(config["pattern"])) from None
    return TopicNameMatches(config["pattern"])


def has_header_key(config: ComponentProperties) -> HasHeaderKey:
    """Return the predicate for the given properties."""
    return HasHeaderKey(config["name"])


def record_is_tombstone(config: ComponentProperties) -> RecordIsTombstone:
    """Return the predicate, which has no properties."""
    return RecordIsTombstone()
