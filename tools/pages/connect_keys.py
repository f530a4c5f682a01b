"""Page docs/connect-keys.md: the effect of each key of Kafka Connect's definitions, by the code that judges it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ignite_kafka.settings import key_table
from ignite_kafka.settings.client_config import CONSUMER_SETTINGS, PRODUCER_SETTINGS, one_name
from ignite_kafka.settings.client_properties import CREDENTIAL_TARGETS
from ignite_kafka.settings.connect.keys import apply_key_rules
from ignite_kafka.settings.connect.names import CLASS, target_of, translate
from ignite_kafka.settings.connect.worker import GivenFile, merge_worker_file
from ignite_kafka.settings.converters import PROPERTIES
from ignite_kafka.settings.secrets import is_secret
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings

KEYS = Path(__file__).parents[2] / "tests" / "migration" / "config_keys.txt"
"""Every key of the definitions in Kafka's jars, as "part key"; an integration test compares it with the jars."""

HONOURED, IGNORED, REFUSED = "honoured", "ignored", "refused"
# the one place that says whether transforms and predicates run: their keys are passed on as they are
TRANSFORMS = HONOURED, "passed to the transform"
_CLASSES = {"source": ("IgniteSource", SourceSettings), "sink": ("IgniteSink", SinkSettings)}
_CONVERTERS = {
    "json": "json",
    "string": "string",
    "bytes": "bytes",
    "number": "integer",
    "boolean": "boolean",
    "simple": "simple",
}
_HEAD = """# Keys of Kafka Connect

Every key of Kafka 4.3's definitions, and what becomes of it. *Honoured*: a setting or a property has its meaning.
*Ignored*: event 15001 reports it with the reason, and nothing is lost. *Refused*: obeying and ignoring it would both
lose or damage data, or no connection could be made; the error says what to do. Keys of the GridGain connector are in
[Settings](settings.md), in the column *reference*.
"""
_TITLES = {
    "worker": "Worker", "source": "Source", "sink": "Sink", "group": "Groups of new topics (`topic.creation.<group>.`)",
    "producer": "Producers (`producer.override.`, `producer.`)", "consumer":
        "Consumers (`consumer.override.`, `consumer.`)",
    "admin": "Admin clients (`admin.override.`, `admin.`)", "provider":
        "Config providers (`config.providers.<name>.param.`)",
}  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """Verdict on a key; ``kind`` is empty for a key that nobody judged."""

    part: str
    key: str
    kind: str
    how: str


def verdicts() -> Iterator[Verdict]:
    """Yield the verdict on each key."""
    for row in KEYS.read_text().splitlines():
        part, key = row.split(" ")
        yield Verdict(part, key, *verdict(part, key))


def verdict(part: str, key: str) -> tuple[str, str]:
    """Return a verdict's kind, and its reason or the key's new name."""
    if part in _CLASSES:
        return _judge_connector_key(part, key)
    if part in ("producer", "consumer"):
        return _judge_client_key(part, key)
    if part in _CONVERTERS:
        definition = PROPERTIES[_CONVERTERS[part]].get(key)
        if part == "simple" or definition is None:
            return ("", "")
        return (
            (IGNORED, definition.ignored)
            if definition.ignored
            else (REFUSED, definition.remedy)
            if definition.refused is None
            else (HONOURED, definition.help)
        )
    if part == "worker":
        return _judge_worker_key(key)
    if part == "group":
        return HONOURED, "`topic_creation_groups`"
    if part == "admin":
        return IGNORED, key_table.WORKER_IGNORED_BEGINNINGS["admin."]
    if part == "provider":
        return (
            (HONOURED, "limits what the provider reads") if key in ("allowed.paths", "allowlist.pattern") else ("", "")
        )
    return TRANSFORMS if part.startswith(("transform:", "predicate:")) else ("", "")


_OF_CONNECTORS = {"bootstrap.servers": "`bootstrap_servers`", "topic.creation.enable": "`create_topics` of a source"}


def _judge_worker_key(key: str) -> tuple[str, str]:
    if key.endswith(".converter"):
        return HONOURED, "default of the connectors that have none"
    merged = merge_worker_file(GivenFile("w", {key: "x"}, {key: "w"}), GivenFile("c", {"name": "c"}, {"name": "c"}))
    if (reason := merged.became.get(("w", key))) is not None:
        return ("", "") if "no such setting" in reason else (IGNORED, reason)
    if key in _OF_CONNECTORS:
        return HONOURED, _OF_CONNECTORS[key]
    if key == "config.providers":
        return HONOURED, "the providers of all files of the run"
    return _judge_client_key("producer", key)


def _judge_connector_key(part: str, key: str) -> tuple[str, str]:
    kind, direction = _CLASSES[part]
    if key == CLASS:
        return HONOURED, "direction of the connector"
    _values, _origins, ignored, _direction, errors = translate({CLASS: kind, "name": "c", key: "all"}, {})
    if key in ignored:
        return IGNORED, ignored[key]
    if key.startswith(("transforms", "predicates")):
        return TRANSFORMS
    if errors and "no such setting" in errors[0].what:
        return "", ""
    return HONOURED, f"`{target_of(key, direction)}`"


def _judge_client_key(part: str, key: str) -> tuple[str, str]:
    name = f"{part}.override.{key}"
    keys = apply_key_rules({name: "1"}, {}, sink=part == "consumer")
    change = key_table.CLIENT_CHANGED.get(key)
    if change is not None:
        return HONOURED, f"{' or '.join(change.allowed)}; with another value, {change.reason}"
    if key == "isolation.level":
        return HONOURED, "read_committed; read_uncommitted is refused"
    if name in keys.ignored:
        return IGNORED, keys.ignored[name]
    if keys.errors:
        return REFUSED, f"{keys.errors[0].what}. {keys.errors[0].remedy}"
    if key in key_table.CLIENT_CONVERTED:
        return HONOURED, "converted by `migrate`"
    if is_secret(key) or key in CREDENTIAL_TARGETS:
        return HONOURED, "in the secrets file, by `migrate`"
    if key == "auto.offset.reset":
        return HONOURED, "`auto_offset_reset`"
    (target,) = keys.values
    if target != name:
        return HONOURED, _OF_CONNECTORS.get(target, f"`{target}`")
    try:
        parsed = (PRODUCER_SETTINGS if part == "producer" else CONSUMER_SETTINGS).parse({key: "1"})
    except ValueError as error:
        return ("", "") if "not a setting of librdkafka" in str(error) else (REFUSED, str(error))
    assert isinstance(parsed, dict)
    return HONOURED, f"librdkafka's `{one_name(next(iter(parsed)))}`"


def page() -> str:
    """Return the page."""
    parts: dict[str, list[Verdict]] = {}
    for result in verdicts():
        parts.setdefault(result.part, []).append(result)
    texts = [_HEAD]
    for part, rows in parts.items():
        title = _TITLES.get(
            part, f"`{part.partition(':')[2]}`" if ":" in part else f"Converter `{_CONVERTERS.get(part, part)}`"
        )
        texts.append(f"\n## {title}\n\n| key | verdict | how or why |\n|---|---|---|\n")
        texts += [f"| `{row.key}` | {row.kind} | {row.how.strip().replace('|', '/')} |\n" for row in rows]
    return "".join(texts)
