"""Settings of a sink connector (Kafka to Ignite); :mod:`~ignite_kafka.settings.connector` has what both directions share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..events import OFFSETS_GUESSED, UPDATES_NOT_APPLIED, Event
from . import topic_names
from . import validation as setting_checks
from .connector import PREFIX, TIME, ConnectorSettings, setting
from .fields import BOOLEAN, MAPPING, TEXT, TEXTS, Kind, choice, text_like, whole_number
from .findings import Findings

KEY, VALUE, KAFKA = "key", "value", "kafka"
OWN_NAME = "{name}"  # in cache_template
NONE, EARLIEST, LATEST = "none", "earliest", "latest"


def _one_or_none(*values: str) -> Kind:
    return text_like(f"({'|'.join(values)})?", f"{' or '.join(values)}; when empty the template's, else the cluster's default")


def group_of(connector: str) -> str:
    """The consumer group of a sink."""
    return f"connect-{connector}"


@dataclass(frozen=True, kw_only=True)
class SinkSettings(ConnectorSettings):
    """All settings of one sink connector."""

    # What is read
    topics: tuple[str, ...] = setting((), TEXTS, "Topics to read; either they or topics_regex must be given")
    topics_regex: str = setting("", TEXT, "Regular expression: topics whose whole name matches are read, later ones too")
    auto_offset_reset: str = setting(
        NONE, choice(NONE, EARLIEST, LATEST),
        "Where to go on if the next record is no longer in the topic: none stops the run, the others pass over what is lost. At the first "
        "start latest begins at the topics' ends, the others at their beginnings",
    )  # fmt: skip
    types_topic: str = setting(
        "",
        TEXT,
        "Topic that holds the binary types of records of converter ignite-binary; <internal_topic_prefix>-types when empty, where a source "
        "of that prefix writes them",
    )

    # Where it goes
    topic_prefix: str = setting(
        "ignite-", PREFIX, "A cache's name is cache_prefix and the topic's name without this", reference="topicPrefix"
    )
    cache_prefix: str = setting("", TEXT, "The beginning of each cache's name", reference="cachePrefix")
    process_updates: bool = setting(
        False, BOOLEAN, "Overwrite and remove entries; else an entry that is there stays as it is", reference="shallProcessUpdates"
    )
    key_policy: str = setting(
        KEY, choice(KEY, VALUE, KAFKA),
        "Where a cache key comes from: the record's key, its value, or its place in Kafka (topic, partition, offset)",
        reference="keyPolicy",
    )  # fmt: skip
    key_fields: tuple[str, ...] = setting(
        (), TEXTS,
        "Fields of the record's key or value that make the cache key; all of the key when empty. With key_policy kafka: names of its three",
        reference="keyFields",
    )  # fmt: skip

    # Caches that are missing
    cache_template: str = setting(
        "",
        TEXT,
        "A cache whose mode, atomicity, backups and query entity caches that are made get; in it {name} is the cache's name without prefix",
    )
    cache_mode: str = setting("", _one_or_none("PARTITIONED", "REPLICATED"), "Mode of caches that are made")
    cache_atomicity: str = setting("", _one_or_none("ATOMIC", "TRANSACTIONAL"), "Atomicity of caches that are made")
    cache_backups: int = setting(-1, whole_number(0, 1_000, besides=-1), "Backups of caches that are made; -1: the template's, else none")
    cache_region: str = setting("", TEXT, "Data region of caches that are made; the nodes' default when empty")
    cache_key_type: str = setting("", TEXT, "SQL key type of caches that are made: a Java class such as java.lang.Long, or a binary type")
    cache_value_type: str = setting("", TEXT, "SQL value type of caches that are made, likewise; with it SQL sees typed columns")
    cache_fields: Mapping[str, str] = setting(
        {}, MAPPING, "SQL columns of caches that are made: field name and Java class; fields of the key are named in key_fields"
    )

    # How the work is done
    batch_size: int = setting(20_000, whole_number(1), "Most records that a task stores at once")
    batch_bytes: int = setting(16 << 20, whole_number(1 << 10, 256 << 20), "Bytes of records that a task stores at once, about")
    push_interval_ms: int = setting(
        2_000,
        TIME,
        "Time between two commits, and the longest that a record waits for others before it is stored",
        reference="pushInterval",
    )
    flush_on_offset_commit: bool = setting(
        False, BOOLEAN, "Store all that was read before offsets are committed", reference="flushOnOffsetCommit", idle="it is always done"
    )
    topic_list_poll_interval_ms: int = setting(
        5_000, TIME, "Time between two looks for new topics and partitions", idle=setting_checks.CONTINUOUS
    )

    @property
    def carried_types_topic(self) -> str:
        """The topic that holds the types of records in Ignite's binary format."""
        return self.types_topic or topic_names.types_topic(self.internal_topic_prefix)

    @property
    def group_id(self) -> str:
        """The consumer group that holds the offsets: that of a Kafka Connect sink of the same name."""
        return group_of(self.name)

    def check_together(self, found: Findings) -> None:
        super().check_together(found)
        with found.check("topics", "topics_regex"):
            self._check_one_of_topics()
        with found.check("topics_regex"):
            if self.topics_regex:
                setting_checks.check_pattern(self, "topics_regex", self.topics_regex)
        for topic in self.topics:
            with found.check():
                if not topic_names.is_topic_name(topic):
                    raise setting_checks.wrong(self, "topics", f"{topic!r} is no name of a topic")
        with found.check("key_policy", "key_fields", "value_converter"):
            self._check_key()
        with found.check("dead_letter_topic", "topics"):
            if self.dead_letter_topic in self.topics:
                raise setting_checks.wrong(self, "dead_letter_topic", "it is one of the topics that are read", "Choose another topic")
        with found.check("cache_fields", "cache_value_type"):
            if self.cache_fields and not self.cache_value_type:
                raise setting_checks.wrong(self, "cache_fields", "they are columns of a type without name", "Set cache_value_type")

    def _check_one_of_topics(self) -> None:
        if bool(self.topics) == bool(self.topics_regex):
            reason = "topics_regex is given too" if self.topics else "neither topics nor topics_regex is given"
            raise setting_checks.wrong(self, "topics", reason, "Give one of them")

    def _check_key(self) -> None:
        if self.key_policy == KAFKA and len(self.key_fields) not in (0, 3):
            remedy = "Name three, for topic, partition and offset, or none"
            raise setting_checks.wrong(self, "key_fields", "with key_policy kafka they are the names of a record's place", remedy)
        if self.key_policy == VALUE and not self.key_fields:
            raise setting_checks.wrong(self, "key_fields", "with key_policy value they are the fields that make the key", "Name them")
        if self.key_policy != KAFKA and self.key_fields and self.value_converter == "ignite-binary":
            raise setting_checks.wrong(self, "key_fields", "converter ignite-binary looks into no field", "Use json, or leave them out")

    def notices(self) -> list[tuple[Event, dict[str, Any]]]:
        found = super().notices()
        if not self.process_updates:
            found.append((UPDATES_NOT_APPLIED, {"reason": "process_updates is false", "setting": "process_updates"}))
        if self.auto_offset_reset != NONE:
            reason = f"auto_offset_reset is {self.auto_offset_reset}"
            found.append((OFFSETS_GUESSED, {"reason": reason, "setting": "auto_offset_reset"}))
        return found
