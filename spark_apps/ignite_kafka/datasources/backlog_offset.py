"""Offset of data source `ignite-backlog` in Spark's checkpoint, which marks the end of a micro-batch."""

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
"""Row type of :attr:`Offset.units`, with a row for each partition."""


@dataclass(frozen=True)
class Offset:
    """End of a micro-batch: update counters and digests of each cache partition.

    :param batch: number of the batch; 0: nothing was read yet.
    :param capture_id: id of the capture with these update counters.
    :param incarnation: incarnation of the cache.
    :param units: a row for each partition (dtype UNITS): highest update counter of all batches up to this batch, -1:
        none; topology version at which the whole partition is sent, -1: unknown; whether this batch has anything of the
        partition; and a digest of its changes with an update counter, by which a restarted query recognises changes not
        acknowledged yet.
    :param load: partitions whose entries this batch reads from the cache.
    """

    batch: int
    capture_id: int
    incarnation: str
    units: npt.NDArray[np.void]
    load: tuple[int, ...] = ()

    @staticmethod
    def beginning(capture_id: int, incarnation: str, partitions: int) -> Offset:
        """Make the offset of a new query, before all changes."""
        units = np.zeros(partitions, UNITS)
        units["high"] = units["topology"] = -1
        return Offset(0, capture_id, incarnation, units)

    def to_dict(self) -> dict[str, Any]:
        """Encode the offset as a dict of JSON values for Spark's checkpoint."""
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
        """Decode an offset of Spark's checkpoint, written by :meth:`to_dict`.

        :raises SettingsError: another source wrote the offset.
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
