"""The command `verify`: its arguments, and its results as text."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING

from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.sink import SinkSettings
from .arguments import CommandArguments
from .command_settings import permissions_of
from .progress_bar import ProgressBar
from .tables import table

if TYPE_CHECKING:
    from ..verification.direction import Judged
    from ..verification.entry_comparison import PairDifferences
    from ..verification.result import VerifyOptions, VerifyResult

DIFFERS = 5
"""Exit code of a comparison with unrepaired differences; no error has this code."""

TOO_MANY = 6
"""Exit code of a comparison that repaired nothing, because more differs than ``--repair-at-most`` allows."""

log = logging.getLogger(__name__)
_COUNTS = ("cache", "topic", "entries", "records", "repeated", "missing", "different", "unexpected", "skipped")
_NEW_TOPIC = "they are two keys for Kafka; send the cache to a new topic (docs/types.md, Keys that are objects)"


def verify_locally(settings: ConnectorSettings, secrets: Secrets, arguments: CommandArguments) -> int:
    """Compare topics with caches, with a Spark session in this process, and print the result.

    :returns: 0, :data:`DIFFERS` if something differs and was not repaired, or :data:`TOO_MANY`.
    :raises IgniteKafkaError: the comparison failed.
    """
    from ..app import Arguments, find_secrets
    from ..runtime.interrupts import interrupts_raised
    from ..runtime.java import require_java
    from ..runtime.spark_versions import require_spark
    from ..verification.connector import check_connector, verify_connector
    from .local_run import local_session

    require_spark(arguments.master)
    require_java()
    secret_arguments = Arguments("", arguments.secrets, arguments.mounted_secrets, arguments.ship_secrets_unprotected)
    options = _options_of(arguments)
    if options.thorough and isinstance(settings, SinkSettings):
        log.warning("--thorough has no effect on a sink: its entries are not decoded by a converter")
    check_connector(settings, secrets, options)
    bar = ProgressBar(sys.stderr, quiet=arguments.quiet)
    with interrupts_raised(), local_session(settings.name, arguments.master) as spark:
        source = find_secrets(spark, secret_arguments, permissions_of(arguments))
        try:
            result = verify_connector(spark, settings, secrets, source, options, bar.show)
        finally:
            bar.end()
    print(json.dumps(result.to_dict(), indent=2) if arguments.json else text_of(result, repair=arguments.repair))
    if result.repair_refusal:
        print(f"ignite-kafka: {result.repair_refusal}: --repair-at-most.", file=sys.stderr)
        return TOO_MANY
    return 0 if result.equal else DIFFERS


def _options_of(arguments: CommandArguments) -> VerifyOptions:
    from ..verification.result import VerifyOptions

    return VerifyOptions(
        arguments.sample,
        arguments.thorough,
        arguments.differences,
        arguments.repair,
        arguments.force,
        arguments.repair_at_most,
        arguments.within,
        arguments.recheck_wait,
    )


def text_of(result: VerifyResult, *, repair: bool) -> str:
    """Return a table of the caches, followed by the first differences of each cache."""
    head = (*_COUNTS, *(("repaired",) if repair else ()))
    rows = [
        (
            *_counts_of(judged.result),
            *((judged.repaired,) if repair else ()),
            "yes" if judged.result.equal else "repaired" if judged.equal else "NO",
        )
        for judged in result.caches
    ]
    results = [judged.result for judged in result.caches]
    examples = [f"{verified.cache}: {example}" for verified in results for example in verified.examples]
    examples += [
        f"{verified.cache}: {verified.other_bytes} keys of {verified.topic} are keys of the cache in other bytes: "
        f"{_NEW_TOPIC}"
        for verified in results
        if verified.other_bytes
    ]
    notes = [note for judged in result.caches for note in _explain_counts(judged, repair=repair)]
    sample = [f"a sample of {result.sample:g} % of the keys"] if result.sample < 100 else []
    gap = [f"not all keys are compared in time: {result.gap}"] if result.gap else []
    return "\n".join([table((*head, "verified"), rows), *sample, *gap, *examples, *notes])


def _counts_of(verified: PairDifferences) -> tuple[object, ...]:
    return tuple(getattr(verified, name) for name in _COUNTS)


def _explain_counts(judged: Judged, *, repair: bool) -> list[str]:
    """Return notes that explain a cache's counts."""
    result = judged.result
    notes = []
    if result.skipped:
        notes.append(f"{result.cache}: {result.skipped} skipped by error_handling_policy")
    if result.changing:
        notes.append(f"{result.cache}: {result.changing} keys changed at each look, and are not compared")
    if repair and result.skipped and result.unexpected and not judged.equal:
        notes.append(
            f"{result.cache}: no tombstones were sent, because a key without an entry may be one of those that were "
            "skipped"
        )
    return notes
