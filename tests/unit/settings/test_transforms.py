"""Transforms and predicates as settings: files of Kafka Connect and nested mappings, and everything wrong with them at once."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.events import TRANSFORMED_KEYS
from ignite_kafka.settings.files.load import from_json, from_properties
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.settings.transforms import PredicateSettings, TransformSettings, chain_of

KAFKA = "org.apache.kafka.connect.transforms"
MASK, TOMBSTONE = f"{KAFKA}.MaskField$Value", f"{KAFKA}.predicates.RecordIsTombstone"
FILE = f"""
name=c
transforms=mask, a, a.b
transforms.mask.type={MASK}
transforms.mask.fields=secret
transforms.mask.predicate=gone
transforms.mask.negate=true
transforms.a.b.type=acme.rules:clean
transforms.a.type={MASK}
transforms.a.fields=x
predicates=gone
predicates.gone.type={TOMBSTONE}
"""
CONFIG: dict[str, Any] = {
    "transforms": ["mask", "a", "a.b"],
    "transform_config": {
        "mask": {"type": MASK, "fields": ["secret"], "predicate": "gone", "negate": True},
        "a": {"type": MASK, "fields": "x"},
        "a.b": {"type": "acme.rules:clean"},
    },
    "predicates": "gone",
    "predicate_config": {"gone": {"type": TOMBSTONE}},
}
CHAIN = (
    TransformSettings("mask", MASK, {"fields": "secret"}, PredicateSettings("gone", TOMBSTONE, {}), negate=True),
    TransformSettings("a", MASK, {"fields": "x"}),
    TransformSettings("a.b", "acme.rules:clean", {}),
)


def source(**values: Any) -> SourceSettings:
    return SourceSettings.from_dict({"name": "c", **values})


def findings(**values: Any) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        source(**values)
    return [str(error) for error in caught.value.findings or (caught.value,)]


def test_a_file_of_kafka_connect_and_nested_mappings_give_the_same_chain() -> None:
    loaded = from_properties(FILE.encode(), "c.properties").settings()
    assert chain_of(loaded) == chain_of(source(**CONFIG)) == CHAIN
    assert loaded.transform_config["mask"]["negate"] == "true"
    flat = {key: text for key, _, text in (line.partition("=") for line in FILE.split("\n")) if key}
    assert chain_of(from_json(json.dumps(flat).encode(), "c.json").settings()) == CHAIN


def test_settings_travel_and_are_fixed_in_a_snapshot() -> None:
    settings = source(**CONFIG)
    assert SourceSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
    fixed = settings.fixed_in_snapshot()
    assert fixed["transforms"] == ["mask", "a", "a.b"]
    other = {**CONFIG, "transform_config": {**CONFIG["transform_config"], "a": {"type": MASK, "fields": "y"}}}
    assert source(**other).fixed_in_snapshot() != fixed
    assert source(**{**CONFIG, "transforms": ["a", "mask", "a.b"]}).fixed_in_snapshot() != fixed
    assert source(**{**CONFIG, "predicate_config": {"gone": {"type": "X"}}}).fixed_in_snapshot() != fixed


def test_an_override_chooses_its_own_chain() -> None:
    settings = source(**CONFIG, overrides={"secret.*": {"transforms": "a"}, "plain": {"transforms": []}})
    assert chain_of(settings.of("secrets")) == CHAIN[1:2]
    assert chain_of(settings.of("plain")) == ()
    assert chain_of(settings.of("other")) == CHAIN
    with pytest.raises(SettingsError, match="b of transforms has no type") as caught:
        source(**CONFIG, overrides={"x": {"transforms": "b"}})
    assert caught.value.where["override"] == "x"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"transforms": "a,a", "transform_config": {"a": {"type": MASK}}}, "alias 'a' is given twice"),
        ({"transforms": "a"}, r"a of transforms has no type \[setting transforms.a.type.*\]. Set transforms.a.type to a class, or package"),
        ({"transforms": "maks", "transform_config": {"mask": {"type": MASK}}}, "maks of transforms has no type .*Did you mean mask"),
        ({"transforms": "a", "transform_config": {"a": {"types": MASK}}}, "a of transforms has no type .*Did you mean types"),
        ({"predicates": "p"}, r"p of predicates has no type .*Set predicates.p.type to a class\. In a Dag .* docs/settings.md#predicates$"),
        (
            {
                "transforms": "a", "transform_config": {"a": {"type": MASK, "predicate": "gnoe"}},
                "predicates": "gone", "predicate_config": {"gone": {"type": TOMBSTONE}},
            },
            r"there is no predicate 'gnoe' \[setting transforms.a.predicate.*\]. Did you mean gone",
        ),
        ({"transforms": "a", "transform_config": {"a": {"type": MASK, "negate": "true"}}}, "a has no predicate to be negated"),
        ({"transforms": "a", "transform_config": {"a": {"type": MASK, "negate": "maybe"}}}, "negate of a is wrong: it is neither true nor"),
        ({"transforms": "a", "transform_config": {"a": "x"}}, "not a mapping of aliases to mappings"),
        (
            {"transforms": "a", "transform_config": {"a": {"type": MASK}}, "key_converter": "ignite-binary"},
            "key_converter is ignite-binary, whose records are Ignite's bytes, .*Use json",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_property(values: dict[str, Any], message: str) -> None:
    (found,) = findings(**values)
    assert re.search(message, found), found


def test_all_findings_come_at_once_with_their_lines() -> None:
    text = b"name=c\nslots=0\ntransforms=a,b\ntransforms.b.type=X\ntransforms.b.predicate=p\ntransforms.b.negate=1\n"
    with pytest.raises(SettingsError) as caught:
        from_properties(text, "c.properties").settings()
    where = {error.where["setting"]: error.where["set_in"] for error in caught.value.findings}
    assert where == {
        "slots": "c.properties, line 2",
        "transforms.a.type": "c.properties, line 3",
        "transforms.b.predicate": "c.properties, line 5",
    }


def test_aliases_that_nothing_uses_are_warnings() -> None:
    config = {**CONFIG["transform_config"], "old": {"type": MASK}, "spare": {"type": MASK}}
    text = {"gone": {"type": TOMBSTONE}, "idle": {"type": TOMBSTONE, "plugin.version": "1"}}
    settings = source(
        **{**CONFIG, "transform_config": config, "predicates": "gone,idle", "predicate_config": text},
        overrides={"x": {"transforms": "spare"}},
    )
    reasons = [str(fields["reason"]) for _, fields in settings.warnings() if "has no effect" in str(fields["reason"])]
    assert reasons == [
        "predicates.idle has no effect: no transform names this predicate",
        "transforms.old has no effect: transforms does not name it.",
        "predicates.idle.plugin.version has no effect: only the installed version is available",
    ]


def test_a_sink_has_them_too_and_configuration_providers_are_refused() -> None:
    settings = SinkSettings.from_dict({"name": "c", "topics": "t", **CONFIG})
    assert chain_of(settings) == CHAIN
    with pytest.raises(SettingsError, match="configuration providers") as caught:
        from_properties(b"name=c\ntransforms=a\ntransforms.a.type=${file:/x:y}", "c.properties").settings()
    assert caught.value.where["setting"] == "transforms.a.type"
    with pytest.raises(SettingsError, match="transform_config is set twice"):
        from_properties(b'name=c\ntransforms=a\ntransforms.a.type=X\ntransform_config={"a":{"type":"X"}}', "c.properties").settings()


@pytest.mark.parametrize(
    ("kind", "more", "warned"),
    [
        ("ValueToKey", {"run_mode": "continuous", "process_removals": True}, True),
        (f"{KAFKA}.Cast$Key", {"failover_policy": "BACKLOG", "process_removals": True}, True),
        ("MaskField$Value", {"run_mode": "continuous", "process_removals": True}, False),
        ("ValueToKey", {"process_removals": True}, False),
        ("ValueToKey", {"run_mode": "continuous"}, False),
    ],
)
def test_a_stream_of_keys_that_transforms_make_is_warned_of(kind: str, more: dict[str, Any], warned: bool) -> None:
    settings = source(transforms="a", transform_config={"a": {"type": kind}}, **more)
    found = [fields["transforms"] for event, fields in settings.warnings() if event is TRANSFORMED_KEYS]
    assert found == (["a"] if warned else [])
