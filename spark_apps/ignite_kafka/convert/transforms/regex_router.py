"""Transform RegexRouter, which renames topics. Source: org.apache.kafka.connect.transforms.RegexRouter (4.3.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from ...java.patterns import check_pattern, pattern_remedy
from ...settings.name_rules import new_name, replacement_parts
from .batch import ConnectBatch, Transformed
from .properties import ComponentProperties, Properties, Property
from .sides import changed
from .thrown import CONNECT_EXCEPTION, Failures

REGEX = "regex"
REPLACEMENT = "replacement"
PROPERTIES: Properties = {REGEX: Property(), REPLACEMENT: Property()}


@dataclass(frozen=True)
class RegexRouter:
    """Transform RegexRouter: it renames the topics that match a Java regular expression as a whole."""

    regex: str
    replacement: str

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Rename the topics of the batch's records."""
        return changed(batch, self._change)

    def routed(self, topic: str) -> str:
        """Return a topic's new name; the same name if the expression does not match.

        :raises ValueError: matching the name takes too many steps.
        """
        renamed = new_name(topic, REGEX, {self.regex: self.replacement})
        return topic if renamed is None else renamed.name

    def _change(self, batch: ConnectBatch, failures: Failures) -> ConnectBatch:
        """Rename the topics of a batch, each distinct name once."""
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


def regex_router(config: ComponentProperties) -> RegexRouter:
    """Return the transform RegexRouter that the properties configure.

    :raises SettingsError: the expression or the replacement cannot be used.
    """
    try:
        check_pattern(config[REGEX])
    except ValueError as error:
        raise config.refused(REGEX, str(error), pattern_remedy(config[REGEX])) from None
    try:
        replacement_parts(config[REGEX], config[REPLACEMENT])
    except ValueError as error:
        raise config.refused(REPLACEMENT, str(error)) from None
    return RegexRouter(config[REGEX], config[REPLACEMENT])
