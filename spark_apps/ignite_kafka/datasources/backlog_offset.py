"""The offset of data source `ignite-backlog` in Spark's checkpoint: the end of a batch."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError

UNITS = np.dtype([("high", "<i8"), ("topology", "<i8"), ("digest", "<u4"), ("touched", "u1")])
"""A row a partition, see :attr:`Offset.units`."""


@dataclass(frozen=True)
class Offset:
    """The end of a batch.

    :param batch: number of the batch; 0: nothing was read yet.
    :param capture_id: the capture that the numbers belong to; `incarnation`: the same of the cache.
    :param units: a row a partition (dtype UNITS): the highest number of all batches up to this one, -1: none; the
        topology version at which all of it is sent, -1: unknown; whether this batch has anything of the partition, and
        a digest of its numbered changes, by which a restarted query recognises changes that are not acknowledged yet.
    :param load: partitions whose entries this batch reads from the cache.
    """

    batch: int
    capture_id: int
    incarnation: str
    units: npt.NDArray[np.void]
    load: tuple[int, ...] = ()

    @staticmethod
    def beginning(capture_id: int, incarnation: str, partitions: int) -> Offset:
        """The offset of a new query."""
        units = np.zeros(partitions, UNITS)
        units["high"] = units["topology"] = -1
        return Offset(0, capture_id, incarnation, units)

    def to_dict(self) -> dict[str, Any]:
        """The offset as primitive values, for Spark."""
        units = base64.b64encode(
            zlib.compress(b"".join(self.units[name].tobytes() for name in UNITS.names or ()))
        ).decode()
        load = ",".join(map(str, self.load))
        return {
            "batch": self.batch,
            "capture": str(self.capture_id),
            "incarnation": self.incarnation,
            "units": units,
            "load": load,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Offset:
        """The offset that :meth:`to_dict` wrote.

        :raises SettingsError: another source wrote it.
        """
        try:
            columns = zlib.decompress(base64.b64decode(data["units"]))
            units = np.zeros(len(columns) // UNITS.itemsize, UNITS)
            position = 0
            for name in UNITS.names or ():
                units[name] = np.frombuffer(columns, UNITS[name], len(units), position)
                position += units[name].nbytes
            load = tuple(int(number) for number in data["load"].split(",") if number)
            return Offset(int(data["batch"]), int(data["capture"]), data["incarnation"], units, load)
        except (KeyError, ValueError, TypeError, zlib.error) as error:
            what = f"an offset in the checkpoint was not written by this source: {error}"
            raise SettingsError(what, "Give the query another checkpointLocation.") from error
