"""Transform TimestampRouter: it puts the record's time into the topic's name.

Source: org.apache.kafka.connect.transforms.TimestampRouter (4.3.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ...java.date_format import Part, formatted, parts_of
from .batch import NO_TIME, ConnectBatch, Transformed
from .properties import ComponentProperties, Properties, Property
from .sides import changed
from .thrown import Failures

TOPIC_FORMAT = "topic.format"
TIME_FORMAT = "timestamp.format"
_TOPIC = "${topic}"
_TIME = "${timestamp}"
PROPERTIES: Properties = {
    TOPIC_FORMAT: Property(default=f"{_TOPIC}-{_TIME}"),
    TIME_FORMAT: Property(default="yyyyMMdd"),
}


@dataclass(frozen=True)
class TimestampRouter:
    """Transform TimestampRouter: a record's topic is named by its former topic and its time in UTC."""

    topic_format: str
    time_format: tuple[Part, ...]

    def apply(self, batch: ConnectBatch) -> Transformed:
        """Name the topics of the records by their times; a record without a time fails."""
        return changed(batch, self._change)

    def _change(self, batch: ConnectBatch, failures: Failures) -> ConnectBatch:
        failures.add(batch.times_ms == NO_TIME, "Timestamp missing on record")
        times = formatted(batch.times_ms, self.time_format).dictionary_encode()
        topics = batch.topics.dictionary_encode()
        names = topics.dictionary.to_pylist()
        texts = times.dictionary.to_pylist()
        pairs = np.asarray(topics.indices).astype(np.int64) * len(texts) + np.asarray(times.indices)
        distinct, places = np.unique(pairs, return_inverse=True)
        routed = [self._name_topic(names[pair // len(texts)], texts[pair % len(texts)]) for pair in distinct.tolist()]
        return replace(batch, topics=pa.array(routed, pa.string()).take(pa.array(places)))

    def _name_topic(self, topic: str, time: str) -> str:
        return self.topic_format.replace(_TOPIC, topic).replace(_TIME, time)


def timestamp_router(config: ComponentProperties) -> TimestampRouter:
    """Return the transform TimestampRouter that the properties configure.

    :raises SettingsError: the format of times cannot be used.
    """
    try:
        return TimestampRouter(config[TOPIC_FORMAT], parts_of(config[TIME_FORMAT]))
    except ValueError as error:
        raise config.refused(TIME_FORMAT, str(error)) from None
