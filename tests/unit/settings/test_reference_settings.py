"""Every setting of the reference is a field or is waived for a reason, with the reference's default, type and choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from tests.unit.settings import reference_settings
from tests.unit.settings.reference_settings import ReferenceSetting

_TYPES = {"class": "string", "long": "int"}
_NULL: dict[str, object] = {"list": (), "class": ""}


def missing(
    reference: Iterable[ReferenceSetting], waivers: Mapping[str, str], direction: type[ConnectorSettings] = SourceSettings
) -> list[str]:
    """What is wrong with the claim that each setting of the reference is a field or is waived for a reason."""
    ours = {setting.reference: name for name, setting in direction.definitions().items() if setting.reference}
    names = {setting.name for setting in reference}
    wrong = [f"{name} is waived and exists" for name in waivers if name in ours]
    wrong += [f"{name} is waived and is none of the reference's" for name in waivers if name not in names]
    wrong += [f"{name} is waived without a reason" for name, reason in waivers.items() if not reason.strip()]
    wrong += [f"{ours[name]} claims {name}, which the reference has not" for name in ours if name not in names]
    wrong += [f"{setting.name} is missing" for setting in reference if setting.name not in ours and setting.name not in waivers]
    return wrong


def test_every_setting_of_the_reference_is_a_field_or_waived() -> None:
    assert missing(reference_settings.SOURCE, reference_settings.WAIVERS) == []
    assert missing(reference_settings.SINK, reference_settings.WAIVERS, SinkSettings) == []


def test_waivers_that_are_wrong_are_found() -> None:
    more = (*reference_settings.SOURCE, ReferenceSetting("notThere", "string", ""))
    assert missing(more, {}) == ["notThere is missing"]
    assert missing(more, {"notThere": "it has no meaning here"}) == []
    assert missing(more, {"notThere": " "}) == ["notThere is waived without a reason"]
    assert missing(reference_settings.SOURCE, {"batchSize": "why not"}) == ["batchSize is waived and exists"]
    assert missing(reference_settings.SOURCE, {"gone": "why not"}) == ["gone is waived and is none of the reference's"]


@pytest.mark.parametrize(
    ("direction", "setting"),
    [
        *((SourceSettings, setting) for setting in reference_settings.SOURCE),
        *((SinkSettings, setting) for setting in reference_settings.SINK),
    ],
)
def test_default_type_and_choices_are_the_reference_s(direction: type[ConnectorSettings], setting: ReferenceSetting) -> None:
    name = next(name for name, ours in direction.definitions().items() if ours.reference == setting.name)
    kind = direction.definitions()[name].type
    default = _NULL[setting.type_name] if setting.default is None else setting.default
    assert direction.defaults()[name] == reference_settings.OTHER_DEFAULTS.get(setting.name, default)
    assert kind.type_name == _TYPES.get(setting.type_name, setting.type_name)
    for choice in setting.choices:
        assert kind.parse(choice) == choice
    if setting.choices:
        with pytest.raises(ValueError, match="none of these"):
            kind.parse("OTHER")
