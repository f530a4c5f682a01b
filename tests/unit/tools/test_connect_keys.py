"""Every key of Kafka Connect has a verdict, and none of them gets a misleading suggestion."""

from __future__ import annotations

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.files.load import from_properties
from tools.pages.connect_keys import HONOURED, IGNORED, KEYS, REFUSED, verdict, verdicts

REFUSED_KEYS = {
    "partitioner.class", "transactional.id", "sasl.login.callback.handler.class", "sasl.kerberos.kinit.cmd",
    "sasl.oauthbearer.assertion.file", "sasl.oauthbearer.assertion.template.file",
}  # fmt: skip


def test_every_key_is_honoured_ignored_or_refused_for_a_reason() -> None:
    found = list(verdicts())
    assert len(found) == len(KEYS.read_text().splitlines()) > 500
    assert [(one.part, one.key) for one in found if one.kind not in (HONOURED, IGNORED, REFUSED) or not one.how] == []
    assert {one.key for one in found if one.kind == REFUSED} == REFUSED_KEYS


@pytest.mark.parametrize("part", ["worker", "source", "sink", "producer", "consumer", "json", "string", "simple", "provider", "other"])
def test_a_key_that_nobody_judged_has_no_verdict(part: str) -> None:
    assert verdict(part, "nobody.judged.this") == ("", "")


@pytest.mark.parametrize("part", ["producer", "consumer"])
@pytest.mark.parametrize("kind", ["IgniteSource", "IgniteSink\ntopics=t"])
def test_no_key_of_a_client_gets_a_suggestion(part: str, kind: str) -> None:
    keys = [row.split(" ")[1] for row in KEYS.read_text().splitlines() if row.startswith(f"{part} ")]
    text = "".join(f"{part}.override.{key}=1\n" for key in keys)
    with pytest.raises(SettingsError) as caught:
        from_properties(f"name=c\nconnector.class={kind}\n{text}".encode(), "c.properties").settings()
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    "key", ["value.converter.schema.registry.url", "key.converter.schema.registry.basic.auth.user.info", "confluent.license"]
)
def test_vendors_keys_that_have_no_use_are_ignored(key: str) -> None:
    loaded = from_properties(f"name=c\nconnector.class=IgniteSource\n{key}=http://r:8081".encode(), "c.properties")
    loaded.settings()
    assert set(loaded.ignored) == {key}
