"""The command `verify`: its arguments, and its results as text."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ..common.time_spans import parse_span
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.sink import SinkSettings
from .arguments import whole
from .command_settings import permissions_of
from .progress_bar import ProgressBar
from .tables import table

if TYPE_CHECKING:
    from ..verification.direction import Judged
    from ..verification.entry_comparison import PairDifferences
    from ..verification.result import VerifyOptions, VerifyResult

RECHECK_WAIT_MS = 60_000
"""Maximum wait for the lag to pass, in milliseconds, unless an option says otherwise."""
HISTORY = "verify-history"
"""Name of the command `verify history` for the parser."""
DIFFERS = 5
"""Exit code of a comparison with unrepaired differences; no error has this code."""
TOO_MANY = 6
"""Exit code of a comparison that repaired nothing, because more differs than ``--repair-at-most`` allows."""
_EXIT_CODES = (
    f"exit codes: 0: compared, and all is equal or repaired; {DIFFERS}: compared, and something differs (counts are "
    f"on stdout); {TOO_MANY}: compared, and nothing is repaired, because more differs than --repair-at-most allows; "
    "others: no result (1: the comparison failed, 2: a setting is wrong, 3: a run began during the "
    "repair, 4: a repair got no reply)"
)

log = logging.getLogger(__name__)
_COUNTS = ("cache", "topic", "entries", "records", "repeated", "missing", "different", "unexpected", "skipped")
_NEW_TOPIC = "they are two keys for Kafka; send the cache to a new topic (docs/types.md, Keys that are objects)"


def join_history(argv: Sequence[str]) -> list[str]:
    """Join the words `verify history` to the command of that name, because `verify` takes a file as its next word."""
    words = list(argv)
    for at, (word, following) in enumerate(pairwise(words)):
        if (word, following) == ("verify", "history") and all(before.startswith("-") for before in words[:at]):
            return [*words[:at], HISTORY, *words[at + 2 :]]
    return words


def add_verify(added: argparse.ArgumentParser) -> None:
    """Add the arguments of `verify` to the arguments that all commands with a file share."""
    added.epilog = _EXIT_CODES
    added.add_argument("--master", help="Spark master (default: that of spark-defaults.conf, else local[*,4])")
    _add_sample(added)
    thorough = "decode every entry by rows too, not one of 256, to find errors of the codec (JSON only; slow)"
    added.add_argument("--thorough", action="store_true", help=thorough)
    added.add_argument(
        "--differences", type=whole, default=5, metavar="N", help="differences to show of each cache (default: 5)"
    )
    _add_repair(added)
    added.add_argument("--json", action="store_true", help="print JSON")
    added.add_argument("--mounted-secrets", metavar="FILE", help="secrets file at this path on every executor")
    unprotected = "send --secrets to executors although Spark does not authenticate"
    added.add_argument("--ship-secrets-unprotected", action="store_true", help=unprotected)


def _add_sample(added: argparse.ArgumentParser) -> None:
    added.add_argument(
        "--sample",
        type=_parse_percent,
        metavar="PERCENT",
        help="compare about so many percent of the keys, those that were not compared for the longest time (default: "
        "all)",
    )
    added.add_argument(
        "--within",
        type=_parse_span,
        default=0,
        metavar="SPAN",
        help="time within which all keys are to be compared, such as 7d; without --sample, each comparison takes the "
        "share that this requires",
    )
    added.add_argument(
        "--recheck-wait",
        type=_parse_span,
        default=RECHECK_WAIT_MS,
        metavar="SPAN",
        help="beside a run, wait up to this time for the lag to pass before a difference counts (default: 60s)",
    )


def _add_repair(added: argparse.ArgumentParser) -> None:
    added.add_argument(
        "--repair", action="store_true", help="send again, or put again, what differs; only while no run is active"
    )
    added.add_argument(
        "--repair-at-most",
        type=whole,
        default=0,
        metavar="N",
        help="repair nothing if more than N keys differ (default: 0, no limit)",
    )
    added.add_argument(
        "--force", action="store_true", help="repair although the newest run has not ended: its driver is dead"
    )


def _parse_percent(text: str) -> float:
    number = float(text.removesuffix("%"))
    if not 0 < number <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not above 0 and at most 100")
    return number


def _parse_span(text: str) -> int:
    try:
        return parse_span(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def verify_locally(settings: ConnectorSettings, secrets: Secrets, arguments: argparse.Namespace) -> int:
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


def _options_of(arguments: argparse.Namespace) -> VerifyOptions:
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
