"""Memory of the converters: a Python worker's peak memory for caches and topics of two sizes, in both directions."""

from __future__ import annotations

from collections.abc import Mapping

from tools.servers.jars import Jars
from tools.servers.registry import SchemaRegistry

from .. import tables
from ..contender import Contender
from ..report import Section, Table
from ..rounds import Case, Log
from ..stack import Stack
from ..tables import SINK_CACHES, SINK_TOPICS, BenchTable
from .converters import PAIRS, Pair
from .copy import copy_request
from .sink import Sink

_FLAT = 1.2
_MEASURED = ("schemas", "avro")
_ROLE = "worker"


def by_converters(stack: Stack, log: Log) -> Section:
    """Copy two caches to topics, and each topic into a new cache; each converter and direction has a new session."""
    small, large = stack.sizes.memory
    found: list[tuple[str, list[float]]] = []
    caches = [tables.trades(f"memory-{size}") for size in (small, large)]
    for table, size in zip(caches, (small, large), strict=True):
        log(f"  loading {size:,}")
        tables.load(stack.ignite.address, table, size)
    with SchemaRegistry(stack.work / "registry-memory", jars=Jars.of_checkout()) as registry:
        for pair in [one for one in PAIRS if one.name in _MEASURED]:
            settings = pair.settings(registry.url)
            for direction, case in (("to Kafka", _copy), ("to Ignite", _sink)):
                label = f"{pair.label}, {direction}"
                with stack.python("spark", f"memory-{pair.name}-{direction[3:].lower()}") as session:
                    found.append(
                        (label, [_peak(case(stack, session, table, pair, settings), label, log) for table in caches])
                    )
            for table in caches:
                tables.destroy(stack.ignite.address, f"{SINK_CACHES}{pair.name}-{table.cache}")
    for table in caches:
        tables.destroy(stack.ignite.address, table.cache)
    return _section(small, large, found)


def _copy(stack: Stack, session: Contender, table: BenchTable, pair: Pair, settings: Mapping[str, object]) -> Case:
    """Case that copies the cache to topic to-<converter>-<cache>."""
    prefix, connector = f"{SINK_TOPICS}{pair.name}-", f"memory-of-{pair.name}-{table.cache}"
    request = {**stack.places, "cache": table.cache}
    more = {"topic_prefix": prefix, "field_nullability_policy": "EAGER", **settings}
    return Case(table.cache, session, copy_request(request, connector, **more))


def _sink(stack: Stack, session: Contender, table: BenchTable, pair: Pair, settings: Mapping[str, object]) -> Case:
    """Case that stores the topic of :func:`_copy` in a new cache."""
    name = f"{pair.name}-{table.cache}"
    sink = Sink(stack, f"{SINK_TOPICS}{name}", tables.trades(f"{SINK_CACHES}{name}"))
    return sink.case(pair.label, session, what="sink", overwrite=True, settings=settings)


def _peak(case: Case, label: str, log: Log) -> float:
    """Peak memory of a worker in one round, in MiB."""
    one = case.run()
    peak = one.peak_mib.get(_ROLE, 0.0)
    log(f"  {label}: {one.entries:,} in {one.seconds:.2f} s, worker peak {peak:.0f} MiB")
    return peak


def _section(small: int, large: int, found: list[tuple[str, list[float]]]) -> Section:
    times = [peaks[1] / peaks[0] for _, peaks in found]
    rows = [
        (label, *(f"{peak:.0f}" for peak in peaks), f"{grown:.2f}")
        for (label, peaks), grown in zip(found, times, strict=True)
    ]
    headers = ("", f"{small:,} entries, MiB", f"{large:,} entries, MiB", "times")
    outcome = "reached" if max(times) <= _FLAT else "not reached"
    most = f"For {large / small:.0f} times the entries a worker's peak memory is at most **{max(times):.2f}** times as high"
    about = (
        "Peak memory of one Python worker for two sizes of the six-field table, one copy each, the smaller first, in a new session for "
        "each converter and direction. JSON without schemas is measured by *Ten times the entries* and *Ten times the records*."
    )
    return Section(
        "Memory of the converters", about, (Table(headers, tuple(rows)),), (f"{most} (goal {_FLAT}: {outcome})",)
    )
