"""RegexRouter: another topic by an expression. Source: org.apache.kafka.connect.transforms.RegexRouter (4.3.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa

from ...settings.java_patterns import check_pattern, pattern_remedy
from ...settings.name_rules import new_name, replacement_parts
from .batch import ConnectBatch, Transformed
from .properties import Owner, Properties, Property
from .sides import changed
from .thrown import Failures

REGEX, REPLACEMENT = "regex", "replacement"
PROPERTIES: Properties = {REGEX: Property(), REPLACEMENT: Property()}


@dataclass(frozen=True)
class RegexRouter:
    """Names a topic whose whole name matches an expression by a replacement, both in Java's syntax."""

    regex: str
    replacement: str

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Keys and values stay."""
        return changed(batch, self._changed)

    def routed(self, topic: str) -> str:
        """The new name of a topic; its own where the expression does not match."""
        found = new_name(topic, REGEX, {self.regex: self.replacement})
        return topic if found is None else found.name

    def _changed(self, batch: ConnectBatch, _: Failures) -> ConnectBatch:
        return replace(batch, topics=renamed(batch.topics, self.routed))


def renamed(topics: pa.StringArray, rename: Callable[[str], str]) -> pa.StringArray:
    """Names of topics, each distinct one renamed once."""
    encoded = topics.dictionary_encode()
    names = pa.array([rename(name) for name in encoded.dictionary.to_pylist()], pa.string())
    return names.take(encoded.indices)


def regex_router(given: Owner) -> RegexRouter:
    """The transform with its properties.

    :raises SettingsError: the expression or the replacement cannot be used.
    """
    try:
        check_pattern(given[REGEX])
    except ValueError as error:
        raise given.refused(REGEX, str(error), pattern_remedy(given[REGEX])) from None
    try:
        replacement_parts(given[REGEX], given[REPLACEMENT])
    except ValueError as error:
        raise given.refused(REPLACEMENT, str(error)) from None
    return RegexRouter(given[REGEX], given[REPLACEMENT])
