"""Provenance headers: they tell a record's origin, and are serialized by the configured header converter."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..common.arrays import Int64Array
from ..convert.connect.columns import ConnectColumn, Serializer
from ..convert.connect.schema import ConnectSchema, ConnectType, timestamp
from ..convert.connect_converters import header_serializer
from ..kafka.headers import same_headers
from ..plan.source_plan import CachePlan, TransferPlan
from ..settings.provenance import PROVENANCE

PREFIX = "ignite_kafka."
_TEXT, _INT32, _INT64 = (ConnectSchema(kind) for kind in (ConnectType.STRING, ConnectType.INT32, ConnectType.INT64))


@dataclass(frozen=True)
class Origin:
    """Origin of N records: the cache, and for each record the Ignite partition, update counter and time.

    :param partitions: N Ignite partitions.
    :param counters: N update counters; None: the entries were scanned, and have none.
    :param times_ms: N times at which the nodes captured the changes; None: now.
    """

    cache: CachePlan
    partitions: npt.NDArray[np.integer[Any]]
    counters: Int64Array | None = None
    times_ms: Int64Array | None = None

    def of_rows(self, rows: Int64Array) -> Origin:
        """Return the origin of the records at the positions `rows`."""
        if rows.size == len(self.partitions):
            return self
        counters, times = (None if column is None else column[rows] for column in (self.counters, self.times_ms))
        return Origin(self.cache, self.partitions[rows], counters, times)


class Provenance:
    """Builder of the provenance headers of a run's records."""

    def __init__(self, plan: TransferPlan) -> None:
        settings = plan.settings
        self._names = tuple(name for name in PROVENANCE if name in settings.provenance_headers)
        self._texts = {"connector": plan.connector, "cluster": settings.cluster_name}
        self._run = plan.generation
        self._serializer: Serializer | None = None
        if self._names:
            self._serializer = header_serializer(settings.header_converter, settings.converter_properties("header"))

    def __bool__(self) -> bool:
        return bool(self._names)

    def headers(self, origin: Origin, topic: str) -> pa.ListArray:
        """Build the provenance headers of N records, in the order of ``settings.provenance.PROVENANCE``."""
        columns = self._columns(origin)
        assert self._serializer is not None
        values = [self._serializer.serialize(column, topic) for column in columns.values()]
        return same_headers([PREFIX + name for name in columns], values, len(origin.partitions))

    def _columns(self, origin: Origin) -> Mapping[str, ConnectColumn]:
        count = len(origin.partitions)
        columns: dict[str, ConnectColumn] = {}
        for name in self._names:
            if name == "cache" or name in self._texts:
                text = self._texts.get(name, origin.cache.name)
                columns[name] = ConnectColumn(pa.repeat(pa.scalar(text), count), _TEXT)
            elif name == "run":
                columns[name] = ConnectColumn(pa.repeat(pa.scalar(self._run, pa.int32()), count), _INT32)
            elif name == "partition":
                columns[name] = ConnectColumn(pa.array(np.asarray(origin.partitions, np.int32)), _INT32)
            elif name == "time":
                times = (
                    np.full(count, int(time.time() * 1000), np.int64) if origin.times_ms is None else origin.times_ms
                )
                columns[name] = ConnectColumn(pa.array(times).view(pa.timestamp("ms", "UTC")), timestamp())
            elif origin.counters is not None:
                columns[name] = ConnectColumn(pa.array(origin.counters), _INT64)
        return columns
