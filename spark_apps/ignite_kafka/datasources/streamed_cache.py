"""Cache that data source `ignite-backlog` streams, and its capture on the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import ChangesLost, SettingsError
from ..ignite.backlog_units import ASKED
from ..ignite.cluster import Cluster
from ..plan.source_plan import CachePlan, TransferPlan
from ..settings.source import SourceSettings
from ..source.stream.backlog_client import BacklogClient
from ..source.stream.capture import Capture, Captured
from ..source.stream.unit_marks import mark_reason
from ..source.stream.unit_table import UnitTable
from .partition_reader import PartitionReader

OWNER = "data source ignite-backlog"

_SHOWN_PARTITIONS = 20


@dataclass(frozen=True)
class StreamedCache:
    """Cache to stream, with the connector under whose name its changes are captured.

    :param settings: the connector's name, and the settings of its capture and its reads.
    :param reload: whether a partition with lost changes is read from the cache; otherwise the loss is an error.
    :param pieces: maximum number of pieces for the changes of one read.
    """

    cache: CachePlan
    settings: SourceSettings
    reload: bool
    pieces: int

    def start_capture(self, cluster: Cluster) -> tuple[StreamedCache, Captured]:
        """Start or continue the capture of the cache's changes on the nodes.

        :raises BacklogMissing: no node has the service.
        :raises SettingsError, BacklogRefused: the connector's name is used by another capture.
        """
        capture = Capture(self.settings, cluster, OWNER)
        capture.check()
        present = capture.present()
        others = set(present.incarnations) - {self.cache.name} if present is not None else set()
        if others:
            raise SettingsError(
                f"the connector captures {', '.join(sorted(others))} already",
                "Give each stream another connector name.",
                option="connector",
                connector=self.settings.name,
            )
        captured = capture.start([self.cache.name])
        return replace(self, cache=captured.named(self.cache)), captured

    def client(self, cluster: Cluster) -> BacklogClient:
        """Make a client that reads the captured changes."""
        return BacklogClient(cluster, self.settings.name)

    def reader(self, cluster: Cluster) -> PartitionReader:
        """Make a reader that deduplicates the captured changes."""
        plan = TransferPlan(self.settings.name, "", 0, 1, self.settings, (self.cache,))
        return PartitionReader(plan, UnitTable.of(plan, [0]), self.client(cluster))

    def check(self, marks: Mapping[int, int]) -> None:
        """Raise an error if changes were lost, unless the option on_loss is to reload the entries.

        :param marks: bits of the mark of each marked partition.
        :raises ChangesLost: changes were lost, and ``reload`` is False.
        """
        lost = {unit: marked for unit, marked in marks.items() if marked & ~ASKED}
        if not lost or self.reload:
            return
        raise self.loss_error(mark_reason(marked & ~ASKED for marked in lost.values()), sorted(lost))

    def loss_error(self, why: str, partitions: Sequence[int]) -> ChangesLost:
        """Make the error for lost changes of some partitions."""
        more = len(partitions) - _SHOWN_PARTITIONS
        shown = ", ".join(map(str, partitions[:_SHOWN_PARTITIONS])) + (f" and {more} more" if more > 0 else "")
        return ChangesLost(
            f"changes were {why}",
            "Continue with the option on_loss = reload: the present entries of these partitions come with _change "
            "'loaded'.",
            connector=self.settings.name,
            cache=self.cache.name,
            partitions=shown,
        )
