"""Every setting, option and property has a trust class, and no door lets one in that may not come by it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from ignite_kafka.datasources.kafka_tx import WriteOptions
from ignite_kafka.datasources.option_tables import TABLES
from ignite_kafka.errors import IgniteKafkaError, NotAvailableYet, SettingsError
from ignite_kafka.migration.migrate import migrate
from ignite_kafka.settings import client_properties as kafka
from ignite_kafka.settings import converters, trust
from ignite_kafka.settings import registry_properties as registry
from ignite_kafka.settings.connect.worker import GivenFile
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.settings.trust import ADDRESS, CODE, DATA, NAME, SECRET
from tests.support import librdkafka
from tests.support.setting_doors import AVRO, CLASS, CONVERTER, DOORS, Door

SETTINGS = {**SourceSettings.definitions(), **SinkSettings.definitions()}
OPTIONS = {name: option for table in TABLES for name, option in table.options.items()}
KAFKA = sorted(kafka.PRODUCER | kafka.CONSUMER | {kafka.OAUTH_CALLBACK})
REGISTRY = sorted({*registry.PROPERTIES, *registry.SECRETS})
CLASSES = {DATA, NAME, ADDRESS, SECRET, CODE}
VALUE, OVERRIDES = "hunter2", ("producer_override", "consumer_override")
SECURITY_DOC = (Path(__file__).parents[3] / "docs" / "security.md").read_text()


def of_class(*classes: str) -> list[str]:
    return [name for name in KAFKA if trust.of_kafka_property(name) in classes]


def test_every_setting_has_a_class() -> None:
    assert sorted(trust.SETTINGS) == sorted(SETTINGS), "add a new setting to SETTINGS of settings/trust.py, in the class of what it can do"
    assert set(trust.SETTINGS.values()) <= CLASSES - {SECRET}


def test_every_option_of_a_data_source_has_a_class() -> None:
    assert sorted(trust.OPTIONS) == sorted(OPTIONS), "add a new option to OPTIONS of settings/trust.py"
    assert set(trust.OPTIONS.values()) <= CLASSES - {SECRET}


def test_every_property_of_a_registry_has_a_class() -> None:
    found = {name: trust.of_registry_property(name) for name in REGISTRY}
    assert set(found.values()) == CLASSES
    meant = re.compile(r"url$|credentials\.source|proxy|\.ssl\.")  # a name that sounds like an address is one, unless it has no effect
    others = {name for name in registry.PROPERTIES if meant.search(name) and found[name] not in (ADDRESS, SECRET)}
    assert {name for name in others if not registry.PROPERTIES[name].ignored} == set()


def test_every_property_of_a_kafka_client_has_a_class(tmp_path: Path) -> None:
    found = {name: trust.of_kafka_property(name) for name in KAFKA}
    assert set(found.values()) == CLASSES
    for name in kafka.UNSETTABLE:
        with pytest.raises(KeyError):
            trust.of_kafka_property(name)
    installed = {name for of in librdkafka.names(tmp_path / "names.md").values() for name in of}
    assert installed - kafka.UNSETTABLE <= found.keys()


def test_the_properties_of_other_converters_are_data() -> None:
    own = {name for of in converters.PROPERTIES.values() for name in of if name not in registry.PROPERTIES}
    assert not {name for name in own if re.search(r"url|host|proxy|ssl|auth|file|path|credential", name)}


@pytest.mark.parametrize("name", [name for name, found in trust.SETTINGS.items() if found == ADDRESS])
@pytest.mark.parametrize("direction", [SourceSettings, SinkSettings])
def test_no_override_of_a_cache_or_topic_has_an_address(name: str, direction: type[SourceSettings] | type[SinkSettings]) -> None:
    value = direction.defaults()[name]
    with pytest.raises(SettingsError, match="it cannot differ between caches or topics"):
        direction.from_dict({"name": "c", "topics": ["t"], "overrides": {"a": {name: value}}} if direction is SinkSettings else {
            "name": "c", "overrides": {"a": {name: value}}
        })  # fmt: skip


def refused(door: Door, folder: Path, setting: str, properties: Mapping[str, str]) -> None:
    """No settings are made; or, of a file of Kafka Connect, settings without the property, which is ignored."""
    try:
        made = door(folder, setting, properties)
        # a file of Kafka Connect may give all clients a property of the producer: it is kafka_config's then
        shown = repr(getattr(made, setting) if setting in OVERRIDES else made.to_dict())
    except (SettingsError, NotAvailableYet) as error:
        shown = str(error)
    assert VALUE not in shown, properties


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("setting", ["kafka_config", "producer_override", "consumer_override"])
def test_no_setting_is_a_secret_or_code_of_a_kafka_client(setting: str, door: Door, tmp_path: Path) -> None:
    for name in of_class(SECRET, CODE):
        if name not in kafka.SECURITY:  # Kerberos: letters and digits may go into its command
            refused(door, tmp_path, setting, {name: VALUE})


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("setting", ["producer_override", "consumer_override"])
def test_no_override_of_one_client_is_an_address(setting: str, door: Door, tmp_path: Path) -> None:
    for name in of_class(ADDRESS):
        if name != "bootstrap.servers":  # of a file of Kafka Connect it is the setting bootstrap_servers
            refused(door, tmp_path, setting, {name: VALUE})


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_no_setting_says_where_a_credential_of_kafka_goes(door: Door, tmp_path: Path) -> None:
    for name in (*kafka.CREDENTIAL_TARGETS, "bootstrap.servers", "metadata.broker.list"):
        refused(door, tmp_path, "kafka_config", {name: VALUE})


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_no_setting_is_a_secret_or_code_of_a_registry(door: Door, tmp_path: Path) -> None:
    for name in REGISTRY:
        if trust.of_registry_property(name) in (SECRET, CODE):
            refused(door, tmp_path, CONVERTER, {name: VALUE})


@pytest.mark.parametrize("name", of_class(SECRET, CODE))
def test_no_option_is_a_secret_or_code(name: str) -> None:
    if name in kafka.SECURITY:
        return
    given = {"bootstrap.servers": "kafka.corp:1", "topic": "t", "name": "w", f"kafka.{name}": VALUE}
    with pytest.raises(SettingsError) as caught:
        WriteOptions.of(given)
    assert VALUE not in str(caught.value)


def test_no_option_is_a_secret_or_code_of_a_registry() -> None:
    for name in REGISTRY:
        if trust.of_registry_property(name) in (SECRET, CODE):
            given = {
                "bootstrap.servers": "kafka.corp:1",
                "topic": "t",
                "name": "w",
                "value.converter": "avro",
                f"value.converter.{name}": VALUE,
            }
            with pytest.raises(IgniteKafkaError) as caught:
                WriteOptions.of(given)
            assert VALUE not in str(caught.value)


@pytest.mark.parametrize("prefix", ["producer.override.", "producer.", ""])
def test_migrate_writes_no_secret_and_no_code_into_settings(prefix: str, tmp_path: Path) -> None:
    names = [f"{prefix}{name}" for name in of_class(SECRET, CODE) if name not in kafka.SECURITY]
    names += [f"value.converter.{name}" for name in REGISTRY if trust.of_registry_property(name) in (SECRET, CODE)]
    for name in names:
        given = {"name": "c", "connector.class": CLASS, "value.converter": AVRO, name: VALUE}
        migrated = migrate(None, GivenFile("c.json", given, dict.fromkeys(given, "c.json")), tmp_path, "localhost:10800")
        if not migrated.findings:
            assert VALUE not in repr(migrated.loaded.settings().to_dict()), name
        assert not [error for error in migrated.findings if VALUE in str(error)], name


def test_the_page_names_every_address_and_every_code() -> None:
    _, _, part = SECURITY_DOC.partition("## Who may set what")
    part, _, _ = part.partition("\n## ")
    shown = set(re.findall(r"`([^`]+)`", part))
    wanted = {name for table in (trust.SETTINGS, trust.OPTIONS) for name, found in table.items() if found in (ADDRESS, CODE)}
    wanted |= registry.ADDRESSES
    assert sorted(name for name in wanted if not any(_matches(name, one) for one in shown)) == []


def _matches(name: str, shown: str) -> bool:
    return re.fullmatch(re.escape(shown).replace(r"\*", ".*"), name) is not None
