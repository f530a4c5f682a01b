"""Dead letters of a connector: the newest ones with their reasons, and sending those of a sink again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, Message
from confluent_kafka.admin import OffsetSpec

from ..common.deadline import Deadline
from ..common.typed_json import integer
from ..errors import KafkaUnavailable, SettingsError
from ..kafka.clients import REQUEST_TIMEOUT_S, KafkaClients, translate
from ..kafka.dead_letters import CONNECT, OURS
from ..kafka.topics import TopicPartition, Topics, read_to
from ..runtime.clients import kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.sink import KEY, SinkSettings
from ..sink.cache_division import cache_of_header
from ..state.configs import ConnectorRecord
from ..state.internal_records import written_ms
from .connector_lag import list_topics
from .recorded_settings import settings_of_newest_run, with_connections

MOST_SHOWN = 50
MOST_REPLAYED = 10_000
"""Maximum number of dead letters in the topic for a replay, which keeps their keys in memory."""
_MOST_TEXT = 500  # characters of a reason
_HIDDEN = "the text is hidden: log_values is false"
_FIRST_ADDED = f"{CONNECT}topic"


@dataclass(frozen=True)
class DeadLetterRow:
    """A dead letter without its key and value.

    :param at_ms: time of the record that could not be copied, in milliseconds since 1970; 0: unknown.
    :param origin: topic, partition and offset of the record of a sink; cache, partition and topic of an entry.
    """

    partition: int
    offset: int
    at_ms: int
    stage: str
    exception: str
    message: str
    origin: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DeadLetterList:
    """The newest dead letters of a connector, the last one first.

    :param topic: the dead-letter topic; empty: the connector has none.
    :param replayable: whether :func:`replay` can send them again.
    """

    connector: str
    topic: str
    letters: tuple[DeadLetterRow, ...] = ()
    replayable: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the list as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Replay:
    """Result of a replay, in numbers of dead letters.

    :param sent: written to the end of the topic from which they came.
    :param superseded: left out, because that topic has a newer record of the same key, such as an earlier replay.
    :param without_key: left out, because a record without a key has no order that can be checked.
    :param waiting: left out, because the connector stopped at their records and will read them again.
    :param elsewhere: left out, because the connector does not read their topic any more.
    """

    connector: str
    sent: int = 0
    superseded: int = 0
    without_key: int = 0
    waiting: int = 0
    elsewhere: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return asdict(self)


def list_dead_letters(
    settings: ConnectorSettings, secrets: Secrets, most: int = MOST_SHOWN, record: ConnectorRecord | None = None
) -> DeadLetterList:
    """Read the newest dead letters of a connector.

    :param settings: name and prefix of the connector, and its connections.
    :param most: maximum number of dead letters, and of the records that are read of each partition.
    :param record: the connector's record; None: it is read.
    :raises SettingsError: no connector of that name was ever started.
    :raises IgniteKafkaError: Kafka did not answer, or refused.
    """
    recorded = settings_of_newest_run(settings, secrets) if record is None else with_connections(settings, record)
    topic = recorded.dead_letter_topic
    if not topic:
        return DeadLetterList(recorded.name, "")
    clients = kafka_clients(recorded, secrets)
    rows = [
        _row(message, log_values=recorded.log_values)
        for message in _letters(clients, Topics(clients), topic, recorded.name, most)
    ]
    newest = sorted(rows, key=lambda row: (row.at_ms, row.partition, row.offset), reverse=True)[:most]
    return DeadLetterList(recorded.name, topic, tuple(newest), _is_replayable(recorded))


def replay(settings: ConnectorSettings, secrets: Secrets, limit_s: float | None = None) -> Replay:
    """Write the dead letters of a sink to the end of their original topics, for the sink to read again.

    A dead letter is left out if its topic has a newer record of its key, which it would overwrite in the cache. So a
    second replay sends nothing twice. A record that another program writes between this check and the replay is not
    seen.

    :param settings: name and prefix of the connector, and its connections.
    :param limit_s: time for reading, in seconds; None: no limit. Nothing is written if it passes.
    :raises SettingsError: the connector was never started, is no sink whose cache key is the record's key, has no
        dead-letter topic, or this topic has more than :data:`MOST_REPLAYED` records.
    :raises IgniteKafkaError: Kafka did not answer, or refused; repeat the replay then.
    """
    sink = settings_of_newest_run(settings, secrets)
    if not isinstance(sink, SinkSettings) or not _is_replayable(sink):
        raise _refusal(sink)
    deadline = Deadline.after(float("inf") if limit_s is None else limit_s)
    clients = kafka_clients(sink, secrets)
    topics = Topics(clients)
    # a run that stops at a record writes a letter each time
    letters = {(each.place, each.offset): each for each in _every_letter(clients, topics, sink)}
    places = _places_read(sink, topics)
    committed = topics.group_offsets(sink.group_id, places)
    keyed: dict[TopicPartition, list[_Letter]] = {}
    without_key = waiting = elsewhere = 0
    for letter in letters.values():
        if letter.place not in places:
            elsewhere += 1
        elif letter.offset >= committed.get(letter.place, (0, None))[0]:
            waiting += 1
        elif letter.message.key() is None:
            without_key += 1
        else:
            keyed.setdefault(letter.place, []).append(letter)
    newest = partial(_newest, clients, topics, sink, deadline=deadline)
    current = [each for place in sorted(keyed) for each in newest(place, keyed[place])]
    superseded = sum(map(len, keyed.values())) - len(current)
    _write(clients, current)
    return Replay(sink.name, len(current), superseded, without_key, waiting, elsewhere)


def _places_read(sink: SinkSettings, topics: Topics) -> set[TopicPartition]:
    """Return the partitions that a sink reads; a letter's headers may name any topic."""
    counts = topics.counts(list_topics(sink, topics))
    return {(topic, number) for topic, count in counts.items() for number in range(count)}


@dataclass(frozen=True)
class _Letter:
    """A dead letter of a sink, and the place from which its record came."""

    message: Message
    place: TopicPartition
    offset: int

    @staticmethod
    def of(message: Message) -> _Letter | None:
        """Return a dead letter; None if its headers have no place."""
        context = _context(message)
        try:
            place = context[_FIRST_ADDED], integer(int(context[f"{CONNECT}partition"]), 0)
            # librdkafka reads negative offsets as positions such as the end
            return _Letter(message, place, integer(int(context[f"{CONNECT}offset"]), 0))
        except (KeyError, ValueError):
            return None


def _is_replayable(settings: ConnectorSettings) -> bool:
    return isinstance(settings, SinkSettings) and settings.key_policy == KEY and bool(settings.dead_letter_topic)


def _refusal(settings: ConnectorSettings) -> SettingsError:
    where = {"connector": settings.name}
    if not isinstance(settings, SinkSettings):
        remedy = "Send the cache partitions of the dead letters again: ignite-kafka resend CACHE PARTITION --name NAME"
        return SettingsError(
            "dead letters of a source are not sent again: their entries may have changed", remedy, **where
        )
    if not settings.dead_letter_topic:
        return SettingsError("the connector has no dead-letter topic", "Set dead_letter_topic.", **where)
    return SettingsError(
        "the cache key is not the record's key, so that no newer record of the same entry can be recognized",
        "Correct the entries by hand, or by a sink that reads the dead-letter topic.",
        key_policy=settings.key_policy,
        **where,
    )


def _every_letter(clients: KafkaClients, topics: Topics, sink: SinkSettings) -> Iterator[_Letter]:
    """Yield all dead letters of a sink whose headers say from where they came.

    :raises SettingsError: the topic has more records than a replay may keep.
    """
    topic = sink.dead_letter_topic
    count = topics.counts([topic]).get(topic, 0)
    places = [(topic, number) for number in range(count)]
    starts = topics.offsets(places, OffsetSpec.earliest())
    held = sum(end - starts[place] for place, end in topics.offsets(places, OffsetSpec.latest()).items())
    if held > MOST_REPLAYED:
        raise SettingsError(
            f"the dead-letter topic has {held:,} records, more than the {MOST_REPLAYED:,} of a replay",
            "Lower its retention, or let a sink of its own read it.",
            connector=sink.name,
            topic=topic,
        )
    for message in _letters(clients, topics, topic, sink.name, MOST_REPLAYED):
        letter = _Letter.of(message)
        if letter is not None:
            yield letter


def _letters(clients: KafkaClients, topics: Topics, topic: str, connector: str, most: int) -> Iterator[Message]:
    """Yield the dead letters of a connector among the last records of each partition; none without the topic."""
    count = topics.counts([topic]).get(topic, 0)
    places = [(topic, number) for number in range(count)]
    starts = topics.offsets(places, OffsetSpec.earliest())
    ends = topics.offsets(places, OffsetSpec.latest())
    first = {place[1]: max(starts[place], ends[place] - most) for place in places}
    for message in read_to(clients, topic, {place[1]: ends[place] for place in places}, first):
        if _context(message).get(f"{CONNECT}connector.name") == connector:
            yield message


def _context(message: Message) -> dict[str, str]:
    """Return the headers that describe the failure; where a name comes twice, the last one was added last."""
    headers: Any = message.headers()
    return {
        name: value.decode("utf-8", "replace")
        for name, value in headers or ()
        if name.startswith((CONNECT, OURS)) and isinstance(value, bytes)
    }


def _row(message: Message, *, log_values: bool) -> DeadLetterRow:
    context = _context(message)
    names = ("cache", "partition", "topic") if f"{OURS}cache" in context else ("topic", "partition", "offset")
    prefix = OURS if f"{OURS}cache" in context else CONNECT
    return DeadLetterRow(
        message.partition() or 0,
        message.offset() or 0,
        written_ms(message),
        context.get(f"{CONNECT}stage", ""),
        context.get(f"{CONNECT}exception.class.name", ""),
        context.get(f"{CONNECT}exception.message", "")[:_MOST_TEXT] if log_values else _HIDDEN,
        {name: context[prefix + name] for name in names if prefix + name in context},
    )


def _newest(
    clients: KafkaClients,
    topics: Topics,
    sink: SinkSettings,
    place: TopicPartition,
    letters: Sequence[_Letter],
    *,
    deadline: Deadline,
) -> list[_Letter]:
    """Return the letters without a newer record of their key and cache in the partition of their origin."""

    def entry_of(key: object, headers: Any) -> tuple[object, str | None]:
        return key, cache_of_header(headers, sink) if sink.cache_header else None

    entries = {letter.offset: entry_of(letter.message.key(), _own_headers(letter.message)) for letter in letters}
    last = {entries[offset]: offset for offset in sorted(entries)}
    topic, partition = place
    ends = topics.ends(topic, [partition])
    for message in read_to(clients, topic, ends, {partition: min(last.values())}):
        if deadline.expired:
            raise KafkaUnavailable(
                "the topic could not be read in time, and nothing was sent",
                "Use the command: ignite-kafka dead-letters replay.",
                topic=topic,
                partition=partition,
                offset=message.offset(),
            )
        entry = entry_of(message.key(), message.headers())
        if entry in last:
            last[entry] = max(last[entry], message.offset() or 0)
    newest = [letter for letter in letters if last[entries[letter.offset]] == letter.offset]
    return sorted(newest, key=lambda letter: letter.offset)


def _write(clients: KafkaClients, letters: Iterable[_Letter]) -> None:
    """Write records to the partitions from which they came, with their own headers and timestamps.

    :raises KafkaUnavailable: the brokers did not confirm a record in time.
    """
    refused: list[KafkaError] = []
    producer = clients.writer()
    for letter in letters:
        producer.produce(
            letter.place[0],
            letter.message.value(),
            letter.message.key(),
            letter.place[1],
            on_delivery=lambda error, _: refused.append(error) if error is not None else None,
            timestamp=written_ms(letter.message),
            headers=_own_headers(letter.message),
        )
        producer.poll(0)
    if producer.flush(min(REQUEST_TIMEOUT_S, clients.patience_s)):
        raise KafkaUnavailable(
            "the brokers did not confirm all records in time", "Repeat the replay: none is sent twice."
        )
    if refused:
        raise translate(refused[0], "sending dead letters again")


def _own_headers(message: Message) -> list[tuple[str, str | bytes | None]]:
    """Return the headers of the record, without those of the failure (:func:`.context_headers`)."""
    headers: Any = message.headers() or ()
    added = [place for place, (name, _) in enumerate(headers) if name == _FIRST_ADDED]
    return list(headers[: added[-1]] if added else headers)
