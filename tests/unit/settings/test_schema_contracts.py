"""The contract of a sink with its SQL tables as a setting: by topic, and refused where it cannot be kept."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.sink import SinkSettings


def sink(**settings: Any) -> SinkSettings:
    return SinkSettings.from_dict({"name": "c", "topics": "orders,trades", **settings})


def test_topics_have_contracts_of_their_own_and_by_default_every_field_is_stored() -> None:
    settings = sink(overrides={"tra.*": {"schema_contract": "evolve"}})
    assert [settings.of(topic).schema_contract for topic in ("orders", "trades")] == ["store", "evolve"]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"schema_contract": "grow"}, "store, evolve, freeze, discard_field or dead_letter"),
        ({"schema_contract": "dead_letter"}, "there is no dead_letter_topic"),
        ({"schema_contract": "freeze", "value_converter": "ignite-binary"}, "stores values byte by byte"),
        ({"overrides": {"trades": {"schema_contract": "dead_letter"}}}, "there is no dead_letter_topic"),
    ],
)
def test_a_contract_that_cannot_be_kept_is_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        sink(**settings)


def test_values_in_ignites_binary_format_let_tables_grow() -> None:
    assert sink(schema_contract="evolve", value_converter="ignite-binary").schema_contract == "evolve"
