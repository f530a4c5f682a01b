"""The command `migrate`, and the variants of `validate` and `run` for a worker's file with connectors' files.

Each connector of a `run` has its own process and Spark driver: in one session the job of a stream would hold the cores
that the other jobs wait for. The first process that fails ends the others.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import events
from ..common.redaction import set_log_values
from ..errors import IgniteKafkaError, SettingsError
from ..migration.given_files import read_given
from ..migration.migrate import Migrated
from ..migration.migrate import migrate as migrate_connector
from ..migration.settings_text import SECRETS_ENDING, settings_file_text
from ..settings import secrets
from ..settings.connect.worker import GivenFile
from ..settings.files.connector_files import SUFFIXES
from ..settings.findings import Findings
from ..settings.secrets import Secrets
from . import render
from .arguments import PROGRAM, CommandArguments, allowed_providers, provider_arguments
from .command_settings import find_conversion_errors, permissions_of
from .file_results import MigratedConnector, MigrationResult, ValidationResult, valid_connector
from .processes import THIS_COMMAND, Part, run_together, show_records


def migrate(arguments: CommandArguments) -> int:
    """Convert files to new files; write nothing if a key is refused or a new file would replace another file."""
    folder = Path(arguments.output)
    if not folder.is_dir():
        raise SettingsError("there is no such folder", "Create it", folder=folder)
    with tempfile.TemporaryDirectory(prefix=".ignite-kafka-", dir=folder) as work:
        results = _migrate_files(arguments, Path(work), keep=True)
        if not arguments.json:
            _print_summary(results)
        written = [path for migrated in results for path in _write_files(migrated, Path(work))]
        stores = [path for path in Path(work).iterdir() if path not in written]
        for path in (*written, *stores):
            if (folder / path.name).exists():
                raise SettingsError(
                    "a file of that name is there already", "Give --output another folder", file=folder / path.name
                )
        for path in written:  # a settings file names a converted store by its final path
            path.write_text(path.read_text().replace(str(work), str(folder.resolve())))
        for path in (*stores, *written):
            path.rename(folder / path.name)
    connectors = tuple(_describe(migrated, folder) for migrated in results)
    result = MigrationResult(connectors, tuple(str(folder / path.name) for path in (*stores, *written)))
    return render.show(arguments, result, _to_text)


def _describe(migrated: Migrated, folder: Path) -> MigratedConnector:
    settings = str(folder / f"{migrated.name}.properties")
    secrets_path = str(folder / (migrated.name + SECRETS_ENDING)) if _has_secrets(migrated.secrets) else None
    options = ["--secrets", secrets_path] if secrets_path else []
    return MigratedConnector(
        migrated.name,
        migrated.file,
        str(migrated.loaded.values["run_mode"]),
        len(migrated.became),
        _count_ignored(migrated),
        migrated.warnings,
        settings,
        secrets_path,
        shlex.join([PROGRAM, "run", settings, *options]),
        bool(migrated.provided),
    )


def _to_text(result: MigrationResult) -> str:
    lines = [f"written: {path}" for path in result.written]
    for connector in result.connectors:
        lines.append(f"{connector.name} runs by: {connector.command}")
        if connector.config_providers:
            lines.append(
                f"{connector.name} has references to config providers, which its run may read with "
                "--allow-config-provider"
            )
    return "\n".join(lines)


def holds_resources(file: str) -> bool:
    """Return whether a file has Strimzi resources, which `run` and `migrate` convert."""
    return Path(file).suffix in SUFFIXES


@dataclass(frozen=True)
class RunFiles:
    """Files of one connector for `run`."""

    name: str
    settings: Path
    secrets: Path | None


def validate_all(arguments: CommandArguments) -> int:
    """Check a worker's file with connectors' files, and report all errors at once."""
    with tempfile.TemporaryDirectory(prefix="ignite-kafka-") as work:
        results = _migrate_files(arguments, Path(work))
        if arguments.json:
            connectors = tuple(
                valid_connector(migrated.loaded.settings(), migrated.file, notes=_list_notes(migrated))
                for migrated in results
            )
            render.print_json(ValidationResult(True, connectors).to_dict())
            return 0
        for migrated in results:
            migrated.loaded.settings()
            print(*_list_notes(migrated), sep="\n")
            print(f"{migrated.file} is valid: connector {migrated.name}, run_mode {migrated.loaded.values['run_mode']}")
    return 0


def _list_notes(migrated: Migrated) -> tuple[str, ...]:
    became = (f"{place}: {name}: {became}" for place, name, became in migrated.became)
    return *became, *(f"{migrated.file}: to be checked: {warning}" for warning in migrated.warnings)


def run_all(arguments: CommandArguments) -> int:
    """Run the connectors of all files, each in its own process, until all processes have ended."""
    if arguments.run_id or arguments.snapshot_id or arguments.mounted_secrets or arguments.metrics_host:
        raise SettingsError(
            "--run-id, --snapshot-id, --mounted-secrets and --metrics-host are of one connector",
            "Give one settings file",
        )
    own_secrets = secrets.load(Path(arguments.secrets), permissions_of(arguments)) if arguments.secrets else Secrets()
    with tempfile.TemporaryDirectory(prefix="ignite-kafka-") as work:
        results = _migrate_files(arguments, Path(work))
        if not arguments.json:
            _print_summary(results)
        parts = [
            Part(
                migrated.name,
                _make_command(arguments, _write_run_files(migrated, own_secrets, Path(work))),
                as_json=arguments.json,
            )
            for migrated in results
        ]
        code = run_together(parts, lambda: None)
    if arguments.json:
        show_records(parts)
    return code


def _write_run_files(migrated: Migrated, own_secrets: Secrets, work: Path) -> RunFiles:
    joined = _merge_secrets(migrated.secrets, own_secrets)
    settings = work / f"{migrated.name}.properties"
    settings.write_text(settings_file_text(migrated), encoding="ascii")
    if not _has_secrets(joined):
        return RunFiles(migrated.name, settings, None)
    path = work / f"{migrated.name}{SECRETS_ENDING}"
    secrets.dump(joined, path)
    return RunFiles(migrated.name, settings, path)


def _merge_secrets(of_files: Secrets, own: Secrets) -> Secrets:
    """Merge the secrets in connectors' files with those of the secrets file; the latter take precedence."""
    ignite = {**vars(of_files.ignite), **{name: value for name, value in vars(own.ignite).items() if value is not None}}
    return Secrets(
        type(of_files.ignite)(**ignite), {**of_files.kafka, **own.kafka}, {**of_files.registry, **own.registry}
    )


def _make_command(arguments: CommandArguments, files: RunFiles) -> tuple[str, ...]:
    options = {"--master": arguments.master, "--kafka": arguments.kafka, "--secrets": files.secrets}
    words = [str(part) for name, value in options.items() if value for part in (name, value)]
    allowed = [part for option in arguments.allow_kafka_option for part in ("--allow-kafka-option", option)]
    allowed += ["--allow-insecure-connections"] if arguments.allow_insecure_connections else []
    unprotected = ["--ship-secrets-unprotected"] if arguments.ship_secrets_unprotected else []
    quiet = ["--quiet"] if arguments.quiet else []
    as_json = ["--json"] if arguments.json else []
    allowed += provider_arguments(arguments)
    return (*THIS_COMMAND, *quiet, "run", str(files.settings), *words, *allowed, *unprotected, *as_json)


def _migrate_files(arguments: CommandArguments, work: Path, *, keep: bool = False) -> list[Migrated]:
    """Convert the connectors of all files; report all errors at once, with event 15000.

    :param keep: see :func:`ignite_kafka.migration.migrate.migrate`.
    """
    allowed = allowed_providers(arguments)
    files = _read_files((arguments.file, *arguments.connectors))
    workers = {item.cluster: item for item in files if item.is_worker}
    connectors = [item for item in files if not item.is_worker]
    if not connectors:
        raise SettingsError(
            "there is no connector's file", "Give the connectors' files after the worker's", file=arguments.file
        )
    if len(workers) < len(files) - len(connectors):
        raise SettingsError(
            "there are two workers' files", "Give one, and after it its connectors' files", file=arguments.file
        )
    worker_of = [workers.get(item.cluster, workers.get(None)) for item in connectors]
    pairs = zip(worker_of, connectors, strict=True)
    results = [migrate_connector(worker, item, work, arguments.ignite, allowed, keep=keep) for worker, item in pairs]
    findings = Findings(error for result in results for error in result.findings)
    names = [result.name for result in results]
    for result in results:
        if not result.kept:
            findings.errors += find_conversion_errors(result.loaded, result.findings)
        with findings.check():
            if names.count(result.name) > 1 and not result.findings:
                raise SettingsError(
                    "two connectors have one name",
                    "Give each its own",
                    setting="name",
                    value=result.name,
                    file=result.file,
                )
    findings.errors = _drop_repeated(findings.errors)
    if findings.errors:
        events.emit(events.MISCONFIGURED, reason=f"{len(findings.errors)} settings are wrong")
    findings.raise_all()
    set_log_values(all(result.loaded.values.get("log_values", True) not in (False, "false") for result in results))
    return results


def _read_files(paths: Sequence[str]) -> list[GivenFile]:
    """Read the worker's and the connectors' parts of all files.

    :raises SettingsError: files cannot be read, or have another form; all errors at once.
    """
    findings = Findings()
    read = list[GivenFile]()
    for path in paths:
        with findings.check():
            read += read_given(path)
    findings.raise_all()
    return read


def _drop_repeated(errors: Sequence[IgniteKafkaError]) -> list[IgniteKafkaError]:
    """Return each error once, because errors of a worker's key are repeated for each connector."""
    return list({str(error): error for error in errors}.values())


def _print_summary(results: Sequence[Migrated]) -> None:
    for migrated in results:
        for warning in migrated.warnings:
            print(f"{migrated.file}: to be checked: {warning}")
        print(
            f"{migrated.file}: connector {migrated.name}, run_mode {migrated.loaded.values['run_mode']}, "
            f"{_count_keys(migrated)}"
        )


def _count_keys(migrated: Migrated) -> str:
    return f"{len(migrated.became)} keys, of which {_count_ignored(migrated)} are ignored"


def _count_ignored(migrated: Migrated) -> int:
    return sum(became.startswith("ignored") for _, _, became in migrated.became)


def _has_secrets(secrets_of_file: Secrets) -> bool:
    return bool(
        secrets_of_file.kafka
        or secrets_of_file.registry
        or any(value is not None for value in vars(secrets_of_file.ignite).values())
    )


def _write_files(migrated: Migrated, work: Path) -> list[Path]:
    files = _write_run_files(migrated, Secrets(), work)
    os.chmod(files.settings, 0o644)
    return [files.settings, *([files.secrets] if files.secrets else [])]
