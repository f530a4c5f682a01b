"""Text of a migrated connector's new settings file, with a comment for each old key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..java.properties import line
from ..settings.connect.config_providers import is_declaration
from ..settings.transforms import CONFIGS
from .migrate import Migrated

SECRETS_ENDING = ".secrets.json"
_SINK_CLASS = "IgniteSinkConnector"
_SOURCE_CLASS = "IgniteSourceConnector"
_BY_NAME = (
    "key_converter_config", "value_converter_config", "header_converter_config", "kafka_config", "producer_override",
    "consumer_override", "topic_config",
)  # fmt: skip
_RUN_MODE = "run_mode"
_CONTINUOUS = (
    "A connector of Kafka Connect runs until it is stopped, so run_mode is continuous here. once is the default of "
    "ignite-kafka:",
    "such a run ends when it has copied what was there at its start.",
)


def settings_file_text(migrated: Migrated) -> str:
    """Return the text of a migrated connector's new settings file, in ASCII."""
    kind = _SINK_CLASS if migrated.loaded.direction.reads_records else _SOURCE_CLASS
    lines = [f"# Written by ignite-kafka migrate for the connector of {migrated.file}.", line("connector.class", kind)]
    lines += [line(name, value) for name, value in migrated.provided.items() if is_declaration(name)]
    for name, value in _settings(migrated.loaded.values):
        shown = migrated.provided.get(name, value)
        comments = migrated.sources.get(name, ())
        if name == _RUN_MODE and not comments:
            comments = _CONTINUOUS
        lines += ["", *map(_format_comment, comments), line(name, shown)]
    if migrated.warnings:
        lines += ["", "# To be checked"] + [_format_comment(warning) for warning in migrated.warnings]
    lines += ["", "# What became of each key"]
    lines += [_format_comment(f"{place}: {name}: {became}") for place, name, became in migrated.became]
    return "\n".join(lines) + "\n"


def _settings(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    kinds = {config: kind for kind, config in CONFIGS.items()}
    for name, value in values.items():
        if name in kinds and isinstance(value, Mapping):
            for alias, properties in value.items():
                yield from ((f"{kinds[name]}.{alias}.{key}", _format_value(item)) for key, item in properties.items())
            continue
        if name in _BY_NAME and isinstance(value, Mapping):
            yield from ((f"{name}.{key}", _format_value(item)) for key, item in value.items())
        else:
            yield name, _format_value(value)


def _format_value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


def _format_comment(content: str) -> str:
    printable = content.encode("ascii", "backslashreplace").decode()
    return "# " + " ".join(printable.split())
