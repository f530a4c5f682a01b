"""The migration of one connector: merge, resolve, convert, translate, and say what became of each key."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import IgniteKafkaError, NotAvailableYet, SettingsError
from ..ignite.endpoint import IgniteCredentials
from ..settings.config_providers import is_declaration
from ..settings.connect_keys import prepare
from ..settings.connect_names import settings_class, target_of, translate
from ..settings.files import PROVIDED, LoadedSettings, resolve
from ..settings.findings import Findings
from ..settings.secrets import Secrets
from ..settings.sink import SinkSettings
from . import client_security, node_settings
from .client_security import Keys
from .merge import GivenFile, Merged, merge

_RUN_MODE = "run_mode"


@dataclass(frozen=True)
class Migrated:
    """A connector after its migration.

    :param loaded: its settings.
    :param became: (file, key, what became of it), in the order of the files.
    :param sources: keys by the setting, or the name within one, that stands for them.
    :param provided: references to config providers by the same names, and the declarations of these providers.
    :param warnings: what a reader has to check.
    :param findings: all that is wrong; empty if the connector can run.
    """

    file: str
    loaded: LoadedSettings
    secrets: Secrets
    became: tuple[tuple[str, str, str], ...]
    sources: Mapping[str, tuple[str, ...]]
    provided: Mapping[str, str]
    warnings: tuple[str, ...]
    findings: tuple[IgniteKafkaError, ...]

    @property
    def name(self) -> str:
        """The connector's name; that of its file, if it has none."""
        return str(self.loaded.values.get("name") or Path(self.file).stem)


def migrate(worker: GivenFile | None, connector: GivenFile, folder: Path, addresses: str | None = None) -> Migrated:
    """Migrate a connector.

    :param worker: its worker's file.
    :param folder: where converted key stores are written.
    :param addresses: setting ``ignite_addresses``, as a text.
    """
    merged = merge(worker, connector)
    raw = dict(merged.given)
    values, errors = resolve(merged.given, merged.origin)
    try:
        direction = settings_class(values, merged.origin)
    except SettingsError as error:
        return Migrated(connector.file, LoadedSettings({}, {}), Secrets(), (), {}, {}, (), (*errors, error))
    sink = direction is SinkSettings
    keys = Keys(values, merged.origin)
    name = str(values.get("name", Path(connector.file).stem)).strip().replace("/", "-")
    client_security.extract(keys, "consumer" if sink else "producer", folder, name)
    warnings = node_settings.extract(keys, folder, name, addresses)
    judged = prepare(keys.given, keys.origin, sink=sink)
    loaded = LoadedSettings(*translate(judged.given, judged.origin))
    loaded = replace(loaded, ignored={**judged.ignored, **loaded.ignored}, origin={**loaded.origin, **_ignored_in(keys, judged.ignored)})
    if _RUN_MODE not in loaded.values:
        loaded = loaded.with_values({_RUN_MODE: "continuous"}, "Kafka Connect, whose connectors have no end")
    hidden = Secrets(IgniteCredentials(**keys.ignite), keys.kafka, keys.registry)
    targets = _targets(judged.given, judged.renamed, direction)
    found = _findings(loaded, [*errors, *keys.errors.errors, *judged.errors])
    return Migrated(
        connector.file,
        loaded,
        hidden,
        tuple(_became(worker, connector, merged, keys, {**loaded.ignored, **judged.ignored}, targets)),
        _sources(targets, judged.origin, keys.stands_for),
        _provided(raw, merged.origin, targets, keys.became),
        tuple(warnings),
        found,
    )


def _ignored_in(keys: Keys, ignored: Mapping[str, str]) -> dict[str, str]:
    return {name: keys.origin.get(name, "") for name in ignored}


def _findings(loaded: LoadedSettings, before: list[IgniteKafkaError]) -> tuple[IgniteKafkaError, ...]:
    found = Findings(before)
    with found.check():
        replace(loaded, ignored={}).settings()
    return tuple(dict.fromkeys(found.errors))


def _targets(given: Mapping[str, Any], renamed: Mapping[str, str], direction: Any) -> dict[str, str]:
    """Setting, or name within one, by key of the files."""
    found = {}
    for name in given:
        with suppress(SettingsError, NotAvailableYet):
            found[renamed.get(name, name)] = target_of(name, direction)
    return found


def _became(
    worker: GivenFile | None, connector: GivenFile, merged: Merged, keys: Keys, ignored: Mapping[str, str], targets: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    found = []
    for file in (worker, connector) if worker is not None else (connector,):
        for name in file.given:
            if (file.file, name) in merged.became:
                text = f"ignored: {merged.became[file.file, name]}"
            elif name in keys.became:
                text = keys.became[name]
            elif name in ignored:
                text = ignored[name] if ignored[name].startswith("it is changed") else f"ignored: {ignored[name]}"
            elif is_declaration(name):
                text = "config providers are declared in this file"
            else:
                text = targets.get(name, "the direction of the connector")
            found.append((file.origin[name], name, text))
    return found


def _sources(targets: Mapping[str, str], origin: Mapping[str, str], stands_for: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, target in targets.items():
        found[target] = (
            *found.get(target, ()),
            f"{origin.get(name, '').removesuffix(PROVIDED)}: {stands_for.get(name, name)}".removeprefix(": "),
        )
    return found


def _provided(raw: Mapping[str, Any], origin: Mapping[str, str], targets: Mapping[str, str], became: Mapping[str, str]) -> dict[str, str]:
    """What a new file keeps of config providers, so that it shows no value of them."""
    kept = {targets[name]: str(value) for name, value in raw.items() if origin[name].endswith(PROVIDED) and name in targets}
    if not kept:
        return {}
    return kept | {name: str(value) for name, value in raw.items() if is_declaration(name) and name not in became}
