"""Properties files as Java reads them, and connector files as they are."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from ignite_kafka import events
from ignite_kafka.errors import NotAvailableYet, SettingsError
from ignite_kafka.java.properties import parse
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.files import load as properties
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings


def read(text: str) -> dict[str, str]:
    return {entry.key: entry.value for entry in parse(text)}


def load(text: str) -> SourceSettings:
    return properties.from_properties(text.encode("iso-8859-1"), "c.properties").settings_of(SourceSettings)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("  a \t\f= \t b c \n", {"a": "b c "}),
        ("a\n", {"a": ""}),
        ("a=", {"a": ""}),
        ("=b", {"": "b"}),
        ("a==b", {"a": "=b"}),
        ("a = : b", {"a": ": b"}),
        ("# c\n ! d\na=b#c", {"a": "b#c"}),
        ("# no continuation \\\na=b", {"a": "b"}),
        ("a=b,\\\n   c,\\\n\td", {"a": "b,c,d"}),
        ("a=b\\\n\nc=d", {"a": "b", "c": "d"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\\n#c=d", {"a": "b#c=d"}),
        ("a=b\\", {"a": "b"}),
        ("a\\=\\:\\ b=c", {"a=: b": "c"}),
        ("a=\\t\\n\\r\\f\\q\\\\", {"a": "\t\n\r\fq\\"}),
        ("a=\\u0041\\u00e9", {"a": "Aé"}),
        ("a=\\ud83d\\ude00", {"a": "😀"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("", {}),
    ],
)
def test_the_specification(text: str, expected: dict[str, str]) -> None:
    assert read(text) == expected


def test_a_broken_escape_names_the_line() -> None:
    with pytest.raises(ValueError, match=r"line 2: \\u12g4 is not"):
        read("a=b\nc=\\u12g4")
    with pytest.raises(SettingsError, match=r"line 1"):
        properties.from_properties(b"a=\\u12", "f.properties")


def test_bytes_are_iso_8859_1_as_in_java() -> None:
    assert properties.from_properties(b"name=c\ntopicPrefix=caf\xe9-", "f").values["topic_prefix"] == "café-"


REFERENCE_FILE = """
# a source connector of the reference
name=gridgain-quickstart-source
connector.class=org.gridgain.kafka.source.IgniteSourceConnector
tasks.max=2
igniteCfg=/opt/ignite/server.xml
ignite_addresses=n:1
topicPrefix=quickstart-
cacheWhitelist=SQL_PUBLIC_.*,\\
    Person
cacheBlacklist=.*_TMP
failoverPolicy=FULL_SNAPSHOT
shallLoadInitialData=true
batchSize=5000
enumPolicy=ORDINAL
"""


def test_a_file_of_the_reference_loads_as_it_is() -> None:
    settings = load(REFERENCE_FILE)
    assert settings == SourceSettings(
        name="gridgain-quickstart-source",
        tasks_max=2,
        ignite_cfg="/opt/ignite/server.xml",
        ignite_addresses=("n:1",),
        topic_prefix="quickstart-",
        cache_whitelist=("SQL_PUBLIC_.*", "Person"),
        cache_blacklist=(".*_TMP",),
        failover_policy="FULL_SNAPSHOT",
        batch_size=5_000,
        enum_policy="ORDINAL",
    )
    assert settings.origin["cache_whitelist"] == "c.properties, line 9"
    assert settings.origin["cache_blacklist"] == "c.properties, line 11"


def test_names_of_kafka_connect() -> None:
    settings = load(
        """
name=c
key.converter=org.apache.kafka.connect.json.JsonConverter
key.converter.schemas.enable=false
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
value.converter.decimal.format=NUMERIC
producer.override.max.request.size=2000000
consumer.override.fetch.min.bytes=2
topic.creation.enable=false
topic.creation.default.partitions=6
topic.creation.default.replication.factor=3
topic.creation.default.cleanup.policy=compact
bootstrap.servers=k:9092
security.protocol=SSL
ssl.ca.location=/ca.pem
ignite_addresses=a:1, b:2
"""
    )
    assert settings.converter_properties("value")["decimal.format"] == "NUMERIC"
    assert settings.converter_properties("key")["decimal.format"] == "BASE64"
    assert settings.producer_override == {"message.max.bytes": "2000000"}
    assert settings.consumer_override == {"fetch.min.bytes": "2"}
    assert (settings.topic_partitions, settings.replication_factor, settings.topic_config) == (6, 3, {"cleanup.policy": "compact"})
    assert not settings.create_topics
    assert settings.bootstrap_servers == "k:9092"
    assert settings.kafka_config == {"security.protocol": "SSL", "ssl.ca.location": "/ca.pem"}
    assert settings.ignite_addresses == ("a:1", "b:2")


SINK_FILE = """
name=gridgain-quickstart-sink
connector.class=org.gridgain.kafka.sink.IgniteSinkConnector
tasks.max=2
topics=ignite-a,ignite-b
igniteCfg=/opt/ignite/server.xml
ignite_addresses=n:1
cachePrefix=copy-
topicPrefix=ignite-
shallProcessUpdates=true
keyPolicy=value
keyFields=id, branch
pushInterval=500
errorHandlingPolicy=LOG_ONLY
consumer.override.auto.offset.reset=latest
consumer.override.fetch.min.bytes=2
"""


def sink(text: str) -> SinkSettings:
    return properties.from_properties(text.encode(), "s.properties").settings_of(SinkSettings)


def test_a_nodes_file_is_no_reason_for_the_default_address() -> None:
    """There may be another cluster."""
    for text, read_ in ((REFERENCE_FILE, load), (SINK_FILE, sink)):
        with pytest.raises(SettingsError, match=r"the nodes of /opt/ignite/server\.xml are not those of its default") as raised:
            read_(text.replace("ignite_addresses=n:1\n", ""))
        assert "--ignite" in raised.value.remedy


def test_a_sink_file_of_the_reference_loads_as_it_is() -> None:
    assert sink(SINK_FILE) == SinkSettings(
        name="gridgain-quickstart-sink",
        tasks_max=2,
        topics=("ignite-a", "ignite-b"),
        ignite_cfg="/opt/ignite/server.xml",
        ignite_addresses=("n:1",),
        cache_prefix="copy-",
        process_updates=True,
        key_policy="value",
        key_fields=("id", "branch"),
        push_interval_ms=500,
        error_handling_policy="LOG_ONLY",
        conversion_error_policy="STOP_TASK",  # of Kafka Connect without errors.tolerance
        auto_offset_reset="latest",
        consumer_override={"fetch.min.bytes": "2"},
    )


@pytest.mark.parametrize("head", ["name=s\ntopics.regex=t.*", "name=c\nconnector.class=IgniteSource"], ids=["sink", "source"])
def test_connect_s_dead_letters_become_a_policy(head: str) -> None:
    def settings(text: str) -> ConnectorSettings:
        return properties.from_properties(f"{head}\n{text}".encode(), "c.properties").settings()

    topic = "errors.deadletterqueue.topic.name=bad\nerrors.deadletterqueue.topic.replication.factor=1\n"
    found = settings(f"{topic}errors.tolerance=all\nerrors.deadletterqueue.context.headers.enable=false")
    assert (found.error_handling_policy, found.conversion_policy, found.dead_letter_topic) == ("STOP_TASK", "DEAD_LETTER", "bad")
    assert (found.dead_letter_copies, found.replication_factor) == (1, -1)
    assert settings("errors.tolerance=all").conversion_policy == "LOG_ONLY"
    assert settings("errors.tolerance=none").conversion_policy == "STOP_TASK"
    for allowed in (f"{topic}errors.tolerance=none", topic):
        found = settings(allowed)
        # a sink of Kafka Connect also reports the record that stops it; a source has no dead letters
        kept = "bad" if found.reads_records else ""
        assert (found.error_handling_policy, found.conversion_policy, found.dead_letter_topic) == ("STOP_TASK", "STOP_TASK", kept)
    with pytest.raises(SettingsError, match=r"errors\.tolerance is wrong.*none or all"):
        settings("errors.tolerance=some")


def test_settings_of_the_source_in_a_sink_file_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ignite_kafka.events")
    found = sink("name=s\ntopics=t\ncacheWhitelist=a\nfailoverPolicy=BACKLOG\ntopic.creation.default.partitions=3")
    assert found == SinkSettings(name="s", topics=("t",))
    ignored = {record.__dict__["event_fields"]["setting"] for record in caplog.records if "a setting of the source" in record.getMessage()}
    assert ignored == {"cacheWhitelist", "failoverPolicy", "topic.creation.default.partitions"}


def test_the_direction_is_that_of_the_class_or_of_the_topics(tmp_path: Path) -> None:
    def direction(**values: str) -> type:
        file = tmp_path / "c.json"
        file.write_text(json.dumps({"name": "c", **values}))
        return type(properties.load(file).settings())

    assert direction(topics="t") is direction(topics_regex="t") is direction(**{"topics.regex": "t"}) is SinkSettings
    assert direction(**{"connector.class": "IgniteSink", "topics": "t"}) is SinkSettings
    assert direction(**{"connector.class": "IgniteSource", "topics": "t"}) is direction() is SourceSettings
    with pytest.raises(SettingsError, match="other direction: SinkSettings, wanted are SourceSettings"):
        properties.from_properties(b"name=c\ntopics=t", "c.properties").settings_of(SourceSettings)


def test_ignored_names_are_logged_with_their_place(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ignite_kafka.events")
    load("name=c\nconnector.class=IgniteSource\ntopics=a,b\noffset.storage.topic=o\nerrors.log.enable=true\nkeyPolicy=key")
    logged = {record.__dict__["event_fields"]["setting"]: record for record in caplog.records}
    assert set(logged) == {"topics", "offset.storage.topic", "errors.log.enable", "keyPolicy"}
    assert logged["topics"].__dict__["event_id"] == events.CONFIG_CHANGED.id == 15001
    assert logged["topics"].__dict__["event_fields"]["set_in"] == "c.properties, line 3"


def test_groups_of_new_topics_are_those_of_connect(caplog: pytest.LogCaptureFixture) -> None:
    lines = ["groups=b,a,b.c,default", "a.include=.*", "a.exclude=x,y", "b.include=b[0-9], z", "b.partitions=6", "b.cleanup.policy=compact"]
    lines += ["b.c.include=q", "b.c.replication.factor=-1", "d.partitions=3", "default.include=.*", "default.partitions=2"]
    with caplog.at_level("INFO"):
        settings = load("name=c\n" + "\n".join(f"topic.creation.{line}" for line in lines))
    assert list(settings.topic_creation_groups.items()) == [
        ("b", {"include": ["b[0-9]", "z"], "partitions": 6, "cleanup.policy": "compact"}),
        ("a", {"include": [".*"], "exclude": ["x", "y"]}),
        ("b.c", {"include": ["q"], "replication.factor": -1}),
    ]
    assert (settings.topic_partitions, settings.topic_config) == (2, {})
    assert "topic.creation.d.partitions: its group is not in topic.creation.groups" in caplog.text
    assert "topic.creation.default.include: the default group has all topics" in caplog.text
    text = json.dumps(settings.topic_creation_groups)
    assert load(f"name=c\ntopic_creation_groups={text}").topic_creation_groups == settings.topic_creation_groups


def test_groups_of_new_topics_are_settings_of_the_source() -> None:
    loaded = properties.from_properties(b"name=c\ntopics=t\ntopic.creation.groups=a\ntopic.creation.a.include=x", "s.properties")
    assert set(loaded.ignored) == {"topic.creation.groups", "topic.creation.a.include"}
    assert loaded.settings_of(SinkSettings).topics == ("t",)


def test_connect_s_class_has_connect_s_default() -> None:
    found = properties.from_properties(
        b"name=c\nvalue.converter=org.apache.kafka.connect.json.JsonConverter\nkey.converter=json", "c.properties"
    )
    assert found.values["value_converter_config"] == {"schemas.enable": "true"}
    assert "key_converter_config" not in found.values


def test_later_features_are_refused_with_their_line() -> None:
    with pytest.raises(NotAvailableYet, match=r"cache_filter 'com\.acme\.F' is not available yet") as caught:
        load("name=c\n\ncacheFilter=com.acme.F")
    assert caught.value.where["set_in"] == "c.properties, line 3"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cacheWhiteList=a", "Did you mean cacheWhitelist"),
        ("tasks.maximum=2", r"Did you mean tasks\.max"),
        ("frobnicate=2", "docs/settings.md"),
        ("connector.class=org.apache.kafka.connect.file.FileStreamSourceConnector", "belongs to another connector"),
        ("ignite.authenticator.basic.password=hunter2", "secrets file"),
        ("sasl.password=hunter2", "is a secret"),
        ("producer.override.sasl.jaas.config=hunter2", "is a secret"),
        ("topicPrefix=${file:/x:hunter2}", "configuration providers"),
        ("batchSize=many", "batch_size is wrong"),
        ("topic.creation.groups=a,a", r"topic\.creation\.groups names a group twice"),
        ("shallLoadInitialData=yes", "load_initial_data is wrong"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(line: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        load(f"name=c\n{line}")
    assert caught.value.where["set_in"] == "c.properties, line 2"
    assert "hunter2" not in str(caught.value)


def test_two_names_of_one_setting_must_agree() -> None:
    text = "name=c\ntasks.max=2\ntasks_max="
    assert load(text + "2").tasks_max == 2
    with pytest.raises(SettingsError, match="tasks_max is set twice"):
        load(text + "3")


def test_json_files(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text('{"name": "c", "cache_whitelist": ["a,b"], "slots": 4}')
    assert properties.load(file).settings() == SourceSettings(name="c", cache_whitelist=("a,b",), slots=4)
    file.write_text('{"name": "c", "config": {"connector.class": "IgniteSourceConnector", "cacheWhitelist": "a,b", "tasks.max": "4"}}')
    assert properties.load(file).settings() == SourceSettings(name="c", cache_whitelist=("a", "b"), tasks_max=4)
    for wrong in ("[1]", "{", '"x"'):
        file.write_text(wrong)
        with pytest.raises(SettingsError, match=r"c\.json"):
            properties.load(file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        properties.load(tmp_path / "none.properties")
    (tmp_path / "c.yaml").write_text("")
    with pytest.raises(SettingsError, match="unknown type"):
        properties.load(tmp_path / "c.yaml")


def test_values_on_top_have_their_own_place() -> None:
    loaded = properties.from_properties(b"name=c\nslots=4", "c.properties").with_values({"slots": 0}, "the command line")
    with pytest.raises(SettingsError, match="set in the command line"):
        loaded.settings()


@pytest.mark.parametrize("content", [b'{"name": "n", "cache_whitelist": []}', b'{"name": "n", "cache_whitelist": ""}'])
def test_a_list_that_was_given_and_is_empty_is_not_all(content: bytes) -> None:
    with pytest.raises(SettingsError, match=r"cache_whitelist was given and is empty: nothing is chosen .*set in c\.json"):
        properties.from_json(content, "c.json").settings()


def test_an_empty_list_of_a_connector_file_is_the_reference_s_default_and_is_named(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "ignite_kafka.events")
    found = properties.from_properties(b"name=n\ncacheWhitelist=\n", "c.properties").settings()
    assert isinstance(found, SourceSettings)
    assert found.cache_whitelist == ()
    assert "cacheWhitelist: it is empty and selects all" in caplog.text


def test_a_property_of_converters_without_its_side_is_refused_with_both_names() -> None:
    loaded = properties.from_json(b'{"connector.class": "IgniteSink", "name": "c", "topics": "t", "schemas.enable": false}', "c.json")
    with pytest.raises(SettingsError, match=r"write value\.converter\.schemas\.enable, key\.converter\.schemas\.enable or both"):
        loaded.settings()
