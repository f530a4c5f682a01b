"""The commands `replicate switchover`, `replicate failover` and `replicate failback`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SettingsError
from ..settings.connector import ConnectorSettings
from ..settings.permissions import Permissions
from . import render
from .arguments import CommandArguments, allowed_providers
from .replicate import load_settings_of_both, read_secrets
from .tables import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..role_transitions.failback import UnsentReport
    from ..role_transitions.pair import Member, Pair
    from ..role_transitions.steps import TransitionResult
    from ..role_transitions.waits import Waits
    from ..settings.sink import SinkSettings
    from ..verification.result import VerifyResult

SOURCE_FILE = "reverse-source.json"
SINK_FILE = "reverse-sink.json"


def switchover(arguments: CommandArguments) -> int:
    """Turn the direction of a pair; write the settings files of the reverse pair."""
    from ..role_transitions.switchover import abort, switch_over

    if arguments.abort and arguments.dry_run:
        raise SettingsError("--abort has no dry run", "Leave out one of --abort and --dry-run.")
    pair = _pair_of(arguments)
    if arguments.abort:
        return _print(arguments, abort(pair, _show))
    with _spark(arguments) as spark:
        result = switch_over(pair, spark.verify, _waits_of(arguments), _show, dry_run=arguments.dry_run)
    return _end(arguments, pair, result)


def failover(arguments: CommandArguments) -> int:
    """End the copy from a lost cluster; the other one lives on."""
    from ..role_transitions.failover import fail_over

    pair = _pair_of(arguments)
    waits = _waits_of(arguments)
    with _spark(arguments) as spark:
        result = fail_over(pair, spark.store, waits, _show, force=arguments.force, dry_run=arguments.dry_run)
    return _print(arguments, result)


def failback(arguments: CommandArguments) -> int:
    """Report what a returned cluster never sent; or send or drop it, and let the other one copy to it."""
    from ..role_transitions.failback import DROP, SEND, fail_back, report_unsent

    choices = [name for name in ("report", SEND, DROP) if getattr(arguments, name)]
    if len(choices) != 1:
        raise SettingsError(
            "failback needs one choice", "Give --report first; then --send or --drop.", choices=", ".join(choices)
        )
    pair = _pair_of(arguments)
    with _spark(arguments) as spark:
        if arguments.report:
            return render.show(arguments, report_unsent(pair, spark.verify), _unsent_text)
        if not arguments.dry_run:  # its source is started before the last steps
            write_reverse(pair, Path(arguments.output))
        waits = _waits_of(arguments)
        result = fail_back(pair, choices[0], spark.verify, spark.store, waits, _show, dry_run=arguments.dry_run)
    return _end(arguments, pair, result)


def _unsent_text(report: UnsentReport) -> str:
    rows = [
        (cache.cache, cache.topic, cache.entries, cache.stored, cache.changed, cache.removed) for cache in report.caches
    ]
    examples = [f"{cache.cache}: {example}" for cache in report.caches for example in cache.examples]
    deleted = [
        f"{cache.cache}: retention may have deleted records of topic {cache.topic}: what they had counts as never sent"
        for cache in report.caches
        if cache.records_deleted
    ]
    return "\n".join([table(("cache", "topic", "entries", "stored", "changed", "removed"), rows), *examples, *deleted])


def _end(arguments: CommandArguments, pair: Pair, result: TransitionResult) -> int:
    """Write the settings files of the reverse pair, and print the result."""
    if not result.dry_run:
        write_reverse(pair, Path(arguments.output))
        _show(
            f"next: ignite-kafka replicate {Path(arguments.output) / SOURCE_FILE} {Path(arguments.output) / SINK_FILE}"
        )
    return _print(arguments, result)


def _print(arguments: CommandArguments, result: TransitionResult) -> int:
    """Print the result; return exit code 0. JSON is one line, as Airflow's BashOperator returns the last one."""
    print(json.dumps(result.to_dict()) if arguments.json else _text(result))
    return 0


def write_reverse(pair: Pair, folder: Path) -> None:
    """Write the settings files of the reverse pair into an existing folder. They hold no secrets.

    :raises SettingsError: a file cannot be written.
    """
    for member, name in ((pair.reverse.source, SOURCE_FILE), (pair.reverse.sink, SINK_FILE)):
        try:
            (folder / name).write_text(json.dumps(member.settings.changed(), indent=2) + "\n")
        except OSError as error:
            raise SettingsError(
                f"the settings file of the reverse pair cannot be written: {error}",
                "Name an existing folder with --output, and run the same command again.",
                file=str(folder / name),
            ) from error


def _show(line: str) -> None:
    print(f"ignite-kafka: {line}", file=sys.stderr, flush=True)


def _text(result: TransitionResult) -> str:
    transition = result.transition
    figures = [f"{name}: {json.dumps(value)}" for name, value in transition.figures.items()]
    state = "dry run, nothing is changed" if result.dry_run else transition.step
    return "\n".join([f"{transition.kind} of {result.source} and {result.sink}: {state}", *figures])


def _waits_of(arguments: CommandArguments) -> Waits:
    from ..role_transitions.waits import Waits

    return Waits(arguments.wait / 1000, getattr(arguments, "quiet_for", 0) / 1000)


def _pair_of(arguments: CommandArguments) -> Pair:
    from ..role_transitions.pair import Member, Pair

    sink_file = Path(arguments.sink) if arguments.sink else None
    source, sink = load_settings_of_both(Path(arguments.source), sink_file, allowed_providers(arguments))
    permissions = _permissions_of(arguments)
    sink_secrets = arguments.sink_secrets or arguments.secrets
    return Pair(
        Member(source, read_secrets(arguments.secrets, permissions), arguments.secrets),
        Member(sink, read_secrets(sink_secrets, permissions), sink_secrets),
    )


def _permissions_of(arguments: CommandArguments) -> Permissions:
    return Permissions((), arguments.allow_insecure_connections)


class _Spark:
    """A Spark session in this process, which starts when a step first needs it."""

    def __init__(self, arguments: CommandArguments, stack: ExitStack) -> None:
        self._arguments = arguments
        self._stack = stack
        self._session: SparkSession | None = None

    def _start(self) -> SparkSession:
        from ..runtime.interrupts import interrupts_raised
        from .local_run import local_session

        if self._session is None:
            self._stack.enter_context(interrupts_raised())
            self._session = self._stack.enter_context(local_session("role-transition", self._arguments.master))
        return self._session

    def _secrets(self, member: Member[ConnectorSettings]) -> Any:
        from ..app import Arguments, find_secrets

        arguments = Arguments("", member.secrets_file, None, False)
        return find_secrets(self._start(), arguments, _permissions_of(self._arguments))

    def verify(self, member: Member[ConnectorSettings], repair: bool) -> VerifyResult:
        """Compare all keys of a connector."""
        from ..verification.connector import check_connector, verify_connector
        from ..verification.result import VerifyOptions

        options = VerifyOptions(repair=repair)
        check_connector(member.settings, member.secrets, options)
        return verify_connector(self._start(), member.settings, member.secrets, self._secrets(member), options)

    def store(self, member: Member[SinkSettings], transition: str) -> None:
        """Run a sink up to the ends of its topics, although the transition of this id has retired it."""
        from ..common.new_id import new_id
        from ..role_transitions.reverse_pair import stored_once
        from ..run import RunRequest, run_request

        settings = stored_once(member.settings)
        secrets = self._secrets(member)
        run_request(self._start(), RunRequest(settings, new_id(), secrets_file=secrets, transition=transition))


@contextmanager
def _spark(arguments: CommandArguments) -> Iterator[_Spark]:
    with ExitStack() as stack:
        yield _Spark(arguments, stack)
