"""RegexRouter: another topic by an expression. Source: org.apache.kafka.connect.transforms.RegexRouter (4.3.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from ...java.patterns import check_pattern, pattern_remedy
from ...settings.name_rules import new_name, replacement_parts
from .batch import ConnectBatch, Transformed
from .properties import Owner, Properties, Property
from .sides import changed
from .thrown import CONNECT_EXCEPTION, Failures

REGEX = "regex"
REPLACEMENT = "replacement"
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
        """The new name of a topic; its own name if the expression does not match.

        :raises ValueError: matching the name takes too many steps.
        """
        found = new_name(topic, REGEX, {self.regex: self.replacement})
        return topic if found is None else found.name

    def _changed(self, batch: ConnectBatch, failures: Failures) -> ConnectBatch:
        """Rename topics; each distinct name is matched once."""
        encoded = batch.topics.dictionary_encode()
        names = []
        for number, name in enumerate(encoded.dictionary.to_pylist()):
            try:
                names.append(self.routed(name))
            except ValueError as error:  # matching takes too many steps
                reason = f"expression {self.regex!r} cannot be matched with topic {name}: {error}"
                failures.add(pc.equal(encoded.indices, number), reason, CONNECT_EXCEPTION)
                names.append(name)
        return replace(batch, topics=pa.array(names, pa.string()).take(encoded.indices))


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
