"""Page of the settings, generated from their definitions."""

from __future__ import annotations

from collections.abc import Iterable

from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.fields import Setting
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings

_HEAD = """# Settings

Names and defaults are those of the GridGain Kafka Connector, in snake_case and with units. Its `.properties` files and
the JSON of Kafka Connect's REST interface load unchanged; a name without a meaning here is ignored and reported by
event 15001. `connector.class` sets the direction; without it, `topics` or `topics_regex` make a sink. An unknown,
contradictory or out-of-range setting ends the run before anything is read. Secrets are not settings: put them in the
secrets file or in the Airflow connection.

The column *fixed* marks settings that decide which records are sent and what they contain. They cannot change while a
snapshot is under way. The column *overrides* marks what `overrides` may set for single caches or topics.
"""
_COLUMNS = """
| setting | meaning | default | allowed | reference | fixed | overrides |
|---|---|---|---|---|---|---|
"""


def page() -> str:
    """Return the page as Markdown."""
    common = ConnectorSettings.definitions()
    return "".join(
        [
            _HEAD,
            _format_section("Both directions", ConnectorSettings, common),
            _format_section("Ignite to Kafka", SourceSettings, SourceSettings.definitions().keys() - common.keys()),
            _format_section("Kafka to Ignite", SinkSettings, SinkSettings.definitions().keys() - common.keys()),
        ]
    )


def _format_section(title: str, settings: type[ConnectorSettings], names: Iterable[str]) -> str:
    chosen = set(names)
    rows = (
        _format_row(name, setting, settings.defaults()[name])
        for name, setting in settings.definitions().items()
        if name in chosen
    )
    return f"\n## {title}\n{_COLUMNS}" + "".join(f"{row}\n" for row in rows)


def _format_row(name: str, setting: Setting, default: object) -> str:
    reference = f"`{setting.reference}`" if setting.reference else ""
    fixed = "yes" if setting.fixed_in_snapshot else ""
    overridable = "yes" if setting.overridable else ""
    values = [_format_default(name, default), setting.type.allowed, reference, fixed, overridable]
    cells = [f'<a id="{name}"></a>`{name}`', _format_meaning(setting), *values]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _format_default(name: str, value: object) -> str:
    if name == "name":
        return "must be given"
    if value in ("", (), {}, None):
        return "empty" if value is not None else "none"
    text = (
        ", ".join(value) if isinstance(value, tuple) else str(value).lower() if isinstance(value, bool) else str(value)
    )
    return f"`{text}`"


def _format_meaning(setting: Setting) -> str:
    parts = [setting.help]
    if setting.unsupported is None:
        parts.append("Not available yet")
    elif setting.unsupported:
        refused = (str(value).lower() if value is True else str(value) for value in setting.unsupported)
        parts.append("Not available yet: " + ", ".join(refused))
    if setting.no_effect_because:
        parts.append(f"Another value has no effect: {setting.no_effect_because}")
    return ". ".join(parts) + "."
