"""Offsets of a sink: their record layout, and the choice of the offset to continue at.

Pure functions. The consumer group holds the offsets, as that of a Kafka Connect sink does; the offsets topic holds a
copy, committed in the same transaction and used once the group has expired. Record layout, besides those of
:mod:`.slots`, in the connector's offsets topic (partition = slot):

=========================================================== =====================================================
key (JSON)                                                  value (JSON)
=========================================================== =====================================================
``["<connector>",{"kafka_topic":"t","kafka_partition":3}]`` ``{"kafka_offset":42,"topic_id":"…","generation":7}``
=========================================================== =====================================================

A strict sink adds ``"put_limit":90`` if records before that offset may be stored already.

The key is the layout of sink offsets in Kafka Connect's REST interface (KIP-875). The metadata of the group's offset is
``{"topic_id":"…","offsets_topic":"…"}``: an offset is void for a new topic of that name, and of use to the connector of
that offsets topic alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..common.typed_json import dumps, integer, json_object, loads, text
from ..errors import RecordsLost, SettingsError, TopicError
from ..settings.sink import EARLIEST, LATEST, NONE

SKIP_REMEDY = (
    f"Records are lost. To skip them set auto_offset_reset to {EARLIEST} or {LATEST}, or set the group's offsets."
)


@dataclass(frozen=True)
class PartitionKey:
    """Key of the record that holds the copy of a topic partition's offset in the offsets topic."""

    connector: str
    topic: str
    partition: int

    def to_json(self) -> bytes:
        """Encode the record's key as JSON."""
        source = {"kafka_topic": self.topic, "kafka_partition": self.partition}
        return dumps([self.connector, source])


@dataclass(frozen=True)
class PartitionOffset:
    """Next offset to read from a topic partition, as stored with a commit.

    An empty ``topic_id`` means that another program set the group's offset.

    :param put_limit: of a strict sink, the offset before which records may be stored although they are not committed;
        not greater than ``offset`` if there are none.
    """

    offset: int
    topic_id: str = ""
    generation: int = 0
    put_limit: int = 0

    def to_json(self) -> bytes:
        """Encode the record's value as JSON."""
        value = {"kafka_offset": self.offset, "topic_id": self.topic_id, "generation": self.generation}
        return dumps({**value, "put_limit": self.put_limit} if self.put_limit > self.offset else value)

    @staticmethod
    def from_json(data: bytes) -> PartitionOffset:
        """Parse the JSON of a record's value, as written by :meth:`to_json`.

        :raises ValueError: the record has another form.
        """
        value = json_object(loads(data))
        return PartitionOffset(
            integer(value.get("kafka_offset"), 0),
            text(value.get("topic_id")),
            integer(value.get("generation")),
            integer(value.get("put_limit", 0)),
        )

    def metadata(self, offsets_topic: str) -> str:
        """Return the metadata to commit with the group's offset, to recognize topic and connector later.

        :param offsets_topic: offsets topic of the connector that commits the offset.
        """
        return dumps({"topic_id": self.topic_id, "offsets_topic": offsets_topic}).decode()

    @staticmethod
    def of_group(offset: int, metadata: str | None) -> PartitionOffset:
        """Build an offset from a consumer group's offset and metadata.

        Metadata of another form give an empty topic id.
        """
        return PartitionOffset(offset, _text_in(metadata, "topic_id"))


def check_group(group: str, offsets_topic: str, committed: Mapping[tuple[str, int], tuple[int, str | None]]) -> None:
    """Check that no other connector commits a group's offsets, because each would skip the other's records.

    :param offsets_topic: offsets topic of this connector.
    :param committed: offset and metadata by topic and partition. Metadata of another program name no connector.
    :raises SettingsError: another connector commits the group's offsets.
    """
    for (topic, partition), (offset, metadata) in committed.items():
        other = _text_in(metadata, "offsets_topic")
        if other not in ("", offsets_topic):
            raise SettingsError(
                f"another connector commits the offsets of consumer group {group}: its offsets topic is {other}, and "
                f"this one's is {offsets_topic}",
                "Give this connector another name or consumer_group. If it replaces the other one, stop that for "
                f"good, and set the offsets anew: kafka-consumer-groups --group {group} --reset-offsets --to-current "
                "--all-topics --execute.",
                group=group,
                topic=topic,
                partition=partition,
                offset=offset,
            )


def _text_in(metadata: str | None, name: str) -> str:
    """Return a text from a group offset's metadata; empty if it is missing or the metadata have another form."""
    try:
        return text(json_object(loads(metadata or "{}")).get(name, ""))
    except ValueError:
        return ""


@dataclass(frozen=True)
class Log:
    """First and end offset in the log of a topic partition; the end includes open transactions."""

    topic_id: str
    start: int
    end: int


@dataclass(frozen=True)
class Start:
    """Offset at which to start reading a topic partition; ``instead_of``: the wanted offset, if it was deleted."""

    offset: int
    instead_of: int | None = None


def start_of(
    topic: str,
    partition: int,
    log: Log,
    group: PartitionOffset | None,
    copy: PartitionOffset | None,
    begin: int | None,
    reset: str,
) -> Start:
    """Choose the offset to continue at: the group's offset, else its copy, else the first offset.

    :param begin: first offset of a partition without any offset; None: its first record.
    :param reset: auto_offset_reset.
    :raises TopicError: the offset is of another topic of that name.
    :raises RecordsLost: the offset was deleted from the log, and ``reset`` is none.
    """
    committed = group or copy
    if committed is None:
        return Start(log.start if begin is None else max(begin, log.start))
    if committed.topic_id not in ("", log.topic_id):
        raise TopicError(
            "the topic was deleted and made again since it was read",
            f"To read the new topic: ignite-kafka offsets reset, the connector's name, --to earliest --topic {topic}.",
            topic=topic,
            partition=partition,
            topic_id=log.topic_id,
            known_topic_id=committed.topic_id,
        )
    if log.start <= committed.offset <= log.end:
        return Start(committed.offset)
    if reset == NONE:
        lost = f"starts at offset {log.start}" if committed.offset < log.start else f"ends at offset {log.end}"
        raise RecordsLost(
            f"the next record to read is offset {committed.offset}, and the partition {lost}",
            SKIP_REMEDY,
            topic=topic,
            partition=partition,
            offset=committed.offset,
        )
    return Start(log.start if reset == EARLIEST else log.end, committed.offset)
