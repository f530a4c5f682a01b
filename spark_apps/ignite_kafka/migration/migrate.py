"""Migration of one connector from Kafka Connect, with a record of what became of each key."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import IgniteKafkaError, NotAvailableYet, SettingsError
from ..ignite.endpoint import IgniteCredentials
from ..settings.connect.config_providers import is_declaration
from ..settings.connect.given_keys import ConnectKeys
from ..settings.connect.keys import apply_key_rules
from ..settings.connect.names import settings_class, target_of, translate
from ..settings.connect.strimzi_worker import check_converters
from ..settings.connect.worker import SIDES, GivenFile, Merged, merge_worker_file
from ..settings.connector import ConnectorSettings
from ..settings.converters import missing_converters
from ..settings.files.load import Allowed, LoadedSettings, resolve
from ..settings.findings import PROVIDED, Findings
from ..settings.secrets import Secrets
from ..settings.sink import SinkSettings
from ..settings.transforms import without_effect
from . import client_security, node_settings
from .client_security import Keys

_RUN_MODE = "run_mode"
_GROUPS = "topic_creation_groups"
_NEEDED = (
    "name",
    "connector.class",
    "transforms",
    "predicates",
    "topic.creation.groups",
    *(f"{side}.converter" for side in SIDES),
)
"""Keys whose values are needed to translate other keys."""


@dataclass(frozen=True)
class Migrated:
    """Connector after its migration: its settings, secrets, and findings.

    :param loaded: settings of the connector.
    :param became: (file, key, what became of it), in the order of the files.
    :param sources: original keys by their setting, or by the name within a setting.
    :param provided: references to config providers by the same names, and the declarations of these providers.
    :param kept: keys whose references were not allowed to be read; they are in the settings as they are.
    :param warnings: points that the user has to check.
    :param findings: all errors; empty if the connector can run.
    """

    file: str
    loaded: LoadedSettings
    secrets: Secrets
    became: tuple[tuple[str, str, str], ...]
    sources: Mapping[str, tuple[str, ...]]
    provided: Mapping[str, str]
    warnings: tuple[str, ...]
    findings: tuple[IgniteKafkaError, ...]
    kept: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the connector, or of its file if the connector has no name."""
        return str(self.loaded.values.get("name") or Path(self.file).stem)


def migrate(
    worker: GivenFile | None,
    connector: GivenFile,
    folder: Path,
    addresses: str | None = None,
    allowed: Allowed = (),
    *,
    keep: bool = False,
) -> Migrated:
    """Convert a connector's Kafka Connect files to settings and secrets of this package.

    :param worker: file of the connector's worker.
    :param folder: where converted key stores are written.
    :param addresses: setting ``ignite_addresses``, as a text.
    :param allowed: what the config providers declared in the files may read.
    :param keep: a reference that is not allowed stays in the settings, to be read at each run; it is a finding only if
        the migration needs its value. Else it is a finding.
    """
    merged = merge_worker_file(worker, connector)
    raw = dict(merged.values)
    values, errors = resolve(merged.values, merged.origin, allowed, keep=keep)
    errors = [*connector.errors, *errors]
    try:
        check_converters(merged, connector)
    except SettingsError as error:
        errors.append(error)
    try:
        direction = settings_class(values, merged.origin)
    except SettingsError as error:
        return Migrated(connector.file, LoadedSettings({}, {}), Secrets(), (), {}, {}, (), (*errors, error))
    keys = Keys(values, merged.origin)
    kept = tuple(
        name for name, value in values.items() if merged.origin.get(name, "").endswith(PROVIDED) and value == raw[name]
    )
    name = str(values.get("name", Path(connector.file).stem)).strip().replace("/", "-")
    client_security.extract_client_security(keys, "consumer" if direction is SinkSettings else "producer", folder, name)
    warnings = node_settings.extract_node_settings(keys, folder, name, addresses)
    files = _Files(worker, connector, merged, raw, kept if keep else ())
    migrated = _build_migrated(files, keys, direction, errors)
    return replace(migrated, warnings=(*warnings, *_to_check(migrated.loaded, merged)), kept=kept)


def _to_check(loaded: LoadedSettings, merged: Merged) -> list[str]:
    """Return warnings about missing converters, and about transforms and predicates without effect.

    A field that an unused transform should remove would be sent.
    """
    notes = [f"{name}: {loaded.ignored[name]}" for name in missing_converters(merged.values) if name in loaded.ignored]
    try:
        settings = replace(loaded, ignored={}).settings()
    except (SettingsError, NotAvailableYet):  # a finding
        return notes
    return notes + [
        f"{set_in}: {setting} has no effect: {reason}" for setting, reason, set_in in without_effect(settings)
    ]


@dataclass(frozen=True)
class _Files:
    worker: GivenFile | None
    connector: GivenFile
    merged: Merged
    raw: Mapping[str, Any]
    kept: tuple[str, ...]


def _build_migrated(
    files: _Files, keys: Keys, direction: type[ConnectorSettings], errors: list[IgniteKafkaError]
) -> Migrated:
    """Build the migration's result once the security settings are converted."""
    merged = files.merged
    judged = apply_key_rules(keys.values, keys.origin, sink=direction is SinkSettings)
    loaded = _load(judged, keys)
    targets = _find_targets(judged.values, judged.renamed, direction)
    provided = _find_provided(files.raw, merged.origin, targets, keys.became)
    needed = [
        name
        for name in files.kept
        if name not in loaded.ignored and (name in _NEEDED or targets.get(name) not in provided)
    ]
    places = {merged.origin[name] for name in files.kept}
    findings = _findings(replace(loaded, file=files.connector.file), [*errors, *keys.errors.errors, *judged.errors])
    return Migrated(
        files.connector.file,
        loaded,
        Secrets(IgniteCredentials(**keys.ignite), keys.kafka, keys.registry),
        tuple(_list_results(files, keys, {**loaded.ignored, **judged.ignored}, targets)),
        _find_sources(targets, judged.origin, keys.stands_for),
        provided,
        (),
        (  # what is wrong with a reference's text says nothing about its value
            *(error for error in findings if error.where.get("set_in") not in places),
            *(_needs_value(name, merged.origin) for name in needed),
        ),
    )


def _load(judged: ConnectKeys, keys: Keys) -> LoadedSettings:
    loaded = LoadedSettings(*translate(judged.values, judged.origin))
    places = {name: keys.origin.get(name, "") for name in judged.ignored}
    loaded = replace(loaded, ignored={**judged.ignored, **loaded.ignored}, origin={**loaded.origin, **places})
    if _RUN_MODE in loaded.values:
        return loaded
    return loaded.with_values({_RUN_MODE: "continuous"}, "Kafka Connect, whose connectors have no end")


def _needs_value(name: str, origin: Mapping[str, str]) -> SettingsError:
    what = "its value is a reference to a config provider, and the migration needs the value"
    remedy = (
        "Let this command read it with --allow-config-provider, or write the value; leave a secret out and put it "
        "into the secrets file"
    )
    return SettingsError(what, remedy, setting=name, set_in=origin.get(name, "").removesuffix(PROVIDED) or None)


def _findings(loaded: LoadedSettings, before: list[IgniteKafkaError]) -> tuple[IgniteKafkaError, ...]:
    findings = Findings(before)
    with findings.check():
        replace(loaded, ignored={}).settings()
    return tuple(dict.fromkeys(findings.errors))


def _find_targets(values: Mapping[str, Any], renamed: Mapping[str, str], direction: Any) -> dict[str, str]:
    """Map each key of the original files to its new setting, or to the name within that setting."""
    targets = {}
    for name in values:
        with suppress(SettingsError, NotAvailableYet):
            targets[renamed.get(name, name)] = target_of(name, direction)
    return targets


def _list_results(
    files: _Files, keys: Keys, ignored: Mapping[str, str], targets: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    worker = files.worker
    connector = files.connector
    merged = files.merged
    rows = []
    for file in (worker, connector) if worker is not None else (connector,):
        for name in file.values:
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
            rows.append((file.origin[name], name, text))
        rows += [(file.origin[name], name, f"ignored: {reason}") for name, reason in file.ignored.items()]
    return rows


def _find_sources(
    targets: Mapping[str, str], origin: Mapping[str, str], stands_for: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    sources: dict[str, tuple[str, ...]] = {}
    for name, target in targets.items():
        sources[target] = (
            *sources.get(target, ()),
            f"{origin.get(name, '').removesuffix(PROVIDED)}: {stands_for.get(name, name)}".removeprefix(": "),
        )
    return sources


def _find_provided(
    raw: Mapping[str, Any], origin: Mapping[str, str], targets: Mapping[str, str], became: Mapping[str, str]
) -> dict[str, str]:
    """Return the config provider references that the new file keeps in place of their values."""
    kept = {
        targets[name]: str(value)
        for name, value in raw.items()
        if origin[name].endswith(PROVIDED) and name in targets and targets[name] != _GROUPS
    }
    if not kept:
        return {}
    return kept | {name: str(value) for name, value in raw.items() if is_declaration(name) and name not in became}
