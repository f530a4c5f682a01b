"""Kafka Connect's predicates TopicNameMatches, HasHeaderKey and RecordIsTombstone.

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
    """Predicate TopicNameMatches: the record's topic matches a Java regular expression as a whole."""

    pattern: str

    def test(self, batch: ConnectBatch) -> Mask:
        """Return a mask of the records whose topic matches.

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
    """Predicate HasHeaderKey: the record has a header of this name."""

    name: str

    def test(self, batch: ConnectBatch) -> Mask:
        """Return a mask of equal flags, because all records of a batch have the same headers."""
        return np.full(len(batch), any(header.name == self.name for header in batch.headers))


class RecordIsTombstone:
    """Predicate RecordIsTombstone: the record's value is null."""

    def test(self, batch: ConnectBatch) -> Mask:
        """Return a mask of the records whose value is null."""
        return ~present(batch.value)


def topic_name_matches(config: ComponentProperties) -> TopicNameMatches:
    """Return the predicate TopicNameMatches that the properties configure.

    :raises SettingsError: the expression cannot be used.
    """
    try:
        check_pattern(config["pattern"])
    except ValueError as error:
        raise config.refused("pattern", str(error), pattern_remedy(config["pattern"])) from None
    return TopicNameMatches(config["pattern"])


def has_header_key(config: ComponentProperties) -> HasHeaderKey:
    """Return the predicate HasHeaderKey that the properties configure."""
    return HasHeaderKey(config["name"])


def record_is_tombstone(config: ComponentProperties) -> RecordIsTombstone:
    """Return the predicate RecordIsTombstone, which has no properties."""
    return RecordIsTombstone()
