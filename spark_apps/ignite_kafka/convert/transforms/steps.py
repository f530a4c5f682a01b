"""Steps of the transform chain that the settings define, their checks, and the topics they route to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ...errors import NotAvailableYet, SettingsError
from ...settings.connector import ConnectorSettings
from ...settings.findings import Findings
from ...settings.name_rules import NamedBy
from ...settings.source import SourceSettings
from ...settings.transforms import (
    PREDICATES,
    REGEX_ROUTER,
    TIMESTAMP_ROUTER,
    TRANSFORMS,
    TransformSettings,
    chain_of,
    predicates_of,
    set_in,
)
from ..connect.columns import ConnectColumn
from .batch import NO_TIME, ConnectBatch, Transform
from .catalog import make_predicate, make_transform
from .chain import Step, apply_chain
from .own_transform import own_transform

_BY_TOPIC = "TopicNameMatches"


def make_steps(settings: ConnectorSettings) -> tuple[Step, ...]:
    """Return the steps of the transform chain for a connector, cache or topic.

    :raises SettingsError: a class is unknown, or its properties are wrong; with all findings at once.
    """
    if not settings.transforms:
        return ()
    findings = Findings()
    steps = []
    predicates = {}
    for predicate in predicates_of(settings):
        with findings.check(), _naming_step(settings, PREDICATES, predicate.alias):
            predicates[predicate.alias] = make_predicate(predicate.type, predicate.properties)
    for transform in chain_of(settings):
        with findings.check(), _naming_step(settings, TRANSFORMS, transform.alias):
            instance = _transform(transform, sink=settings.reads_records)
            steps.append(
                Step(
                    transform.alias,
                    instance,
                    predicates.get(transform.predicate.alias) if transform.predicate else None,
                    transform.negate,
                )
            )
    findings.raise_all()
    return tuple(steps)


def _transform(transform: TransformSettings, *, sink: bool) -> Transform:
    return (
        own_transform(transform.type, transform.properties)
        if transform.is_own
        else make_transform(transform.type, transform.properties, sink=sink)
    )


def check_steps(settings: ConnectorSettings) -> None:
    """Check the transforms of a connector and its overrides, without starting anything.

    :raises SettingsError: an error of :func:`make_steps`; or transforms of a source give the records of one cache
        several topics, and the source sends removals, or its records have no time.
    """
    findings = Findings()
    for variant in settings.variants:
        with findings.check():
            make_steps(variant)
        if isinstance(variant, SourceSettings):
            for transform in chain_of(variant):
                with findings.check():
                    _check_route(variant, transform)
    findings.raise_all()


def _check_route(settings: SourceSettings, transform: TransformSettings) -> None:
    if not _depends_on_records(transform):
        return
    by_time = transform.short_name == TIMESTAMP_ROUTER
    if settings.streams and settings.process_removals:
        by = "their times" if by_time or transform.predicate is None else f"predicate {transform.predicate.alias}"
        why = "nothing says in which of them the record of a removed entry is, so that its tombstone cannot go there"
        what = f"records of one cache would go to several topics, by {by}: {why}"
        remedy = "Set process_removals to false, or route at the sink"
    elif by_time and not settings.record_timestamp_field and not any(other.is_own for other in chain_of(settings)):
        what = "the records have no time by which it could route them"
        remedy = "Set record_timestamp_field"
    else:
        return
    where = {"setting": f"{TRANSFORMS}.{transform.alias}.type", "value": transform.type}
    raise SettingsError(what, remedy, **where, set_in=set_in(settings, TRANSFORMS, transform.alias))


def routed_topics(settings: SourceSettings) -> Callable[[str], NamedBy]:
    """Return a function from a cache to its topic, after the RegexRouters among its transforms.

    If the topic depends on the record, the topic in the settings is returned.

    :raises SettingsError: an error of :func:`make_steps`.
    """
    return _topics(settings, lambda own: () if routes_records(own) else _routers(own, REGEX_ROUTER))


def example_topics(settings: SourceSettings) -> Callable[[str], NamedBy]:
    """Return a function from a cache to one topic that its records may be routed to.

    Routers are applied, without their predicates, to a record of 1970.

    :raises SettingsError: an error of :func:`make_steps`.
    """

    def routers(own: SourceSettings) -> tuple[Step, ...]:
        return tuple(replace(step, predicate=None) for step in _routers(own, REGEX_ROUTER, TIMESTAMP_ROUTER))

    return _topics(settings, routers, time_ms=0)


def _topics(
    settings: SourceSettings, routers_of: Callable[[SourceSettings], tuple[Step, ...]], *, time_ms: int = NO_TIME
) -> Callable[[str], NamedBy]:
    """Return a function from a cache to its topic, after the given routers of the cache's settings.

    Routers are made once for all caches with the same override.
    """
    routers: dict[str | None, tuple[Step, ...]] = {}

    def topic_of(cache: str) -> NamedBy:
        override = settings.override_of(cache)
        if override not in routers:
            routers[override] = routers_of(settings.of(cache))
        return routed(settings.topic_of(cache), routers[override], time_ms=time_ms)

    return topic_of


def _routers(settings: ConnectorSettings, *names: str) -> tuple[Step, ...]:
    chain = zip(make_steps(settings), chain_of(settings), strict=True)
    return tuple(step for step, transform in chain if transform.short_name in names)


def routed(topic: NamedBy, routers: Sequence[Step], *, time_ms: int = NO_TIME) -> NamedBy:
    """Return a topic's name after routers were applied to it.

    :param time_ms: time of the record, in milliseconds since 1970.
    """
    if not routers:
        return topic
    nothing = ConnectColumn(pa.nulls(1), None)
    batch = ConnectBatch(np.zeros(1, np.int64), nothing, nothing, pa.array([topic.name]), np.full(1, time_ms, np.int64))
    transformed = apply_chain(batch, routers)
    if transformed.bad:
        raise SettingsError(
            f"topic {topic.name} cannot be routed: {transformed.bad[0].reason}",
            setting=f"{TRANSFORMS}.{transformed.bad[0].transform}",
        )
    name = transformed.batches[0].topics[0].as_py()
    by = REGEX_ROUTER if time_ms == NO_TIME else "routers"
    return topic if name == topic.name else NamedBy(name, f"{topic.rule} and {by}")


def routes_records(settings: ConnectorSettings) -> bool:
    """Return whether routers in the settings may send records of one topic to several topics."""
    return routes_each(chain_of(settings))


def routes_each(chain: Iterable[TransformSettings]) -> bool:
    """Return whether routers in a chain may send records of one topic to several topics."""
    return any(_depends_on_records(transform) for transform in chain)


def routed_topic(settings: ConnectorSettings, topic: str) -> str:
    """Return a topic's name after the RegexRouters among the transforms.

    :raises SettingsError: an error of :func:`make_steps`.
    """
    return routed(NamedBy(topic, ""), _routers(settings, REGEX_ROUTER)).name


def asks_for_tombstones(chain: Iterable[TransformSettings]) -> bool:
    """Return whether a chain has the predicate RecordIsTombstone, which must know the null values."""
    return any(_predicate_of(transform) == "RecordIsTombstone" for transform in chain)


def reads_headers(chain: Iterable[TransformSettings]) -> bool:
    """Return whether transforms may read or change the headers of records."""
    return any(
        "Header" in transform.short_name or transform.is_own or _predicate_of(transform) == "HasHeaderKey"
        for transform in chain
    )


def _predicate_of(transform: TransformSettings) -> str:
    return "" if transform.predicate is None else transform.predicate.type.rpartition(".")[2]


def _depends_on_records(transform: TransformSettings) -> bool:
    """Return whether a transform's routing depends on more of a record than its topic."""
    return transform.short_name == TIMESTAMP_ROUTER or (
        transform.short_name == REGEX_ROUTER and _predicate_of(transform) not in ("", _BY_TOPIC)
    )


@contextmanager
def _naming_step(settings: ConnectorSettings, kind: str, alias: str) -> Iterator[None]:
    """Return a context that adds the transform's or predicate's alias to errors."""
    try:
        yield
    except (SettingsError, NotAvailableYet) as error:
        for finding in error.findings or (error,):
            name = finding.where.get("setting")
            finding.where["setting"] = f"{kind}.{alias}.{name}" if name else f"{kind}.{alias}"
            if where := set_in(settings, kind, alias, str(name)):
                finding.where.setdefault("set_in", where)
        raise
