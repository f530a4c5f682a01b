"""What Airflow learns of a run: asset events and lineage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from airflow_provider_ignite_kafka.assets.copied import Copied, clusters_of, copied_of
from airflow_provider_ignite_kafka.assets.events import emit_asset_events, report_hook_lineage

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from airflow_provider_ignite_kafka.spark.request import Request
    from ignite_kafka.state.status import RunStatus


class RunReport:
    """Reports one run of a task to Airflow. A task that is resumed in another process makes a new one of the same request.

    :param outlets: those of the task.
    """

    def __init__(self, context: Context, request: Request, outlets: Iterable[Any]) -> None:
        self._context, self._outlets = context, tuple(outlets)
        self.request = request
        self.copied: Copied = clusters_of(request.settings)

    def ended(self, status: RunStatus | None, *, succeeded: bool) -> None:
        """Report the end of the run.

        :param status: the run's last record; None if it is not known.
        :param succeeded: whether the task succeeds, too; asset events are made of such a task only.
        """
        self.copied = copied_of(self.request.settings, status)
        if succeeded:
            emit_asset_events(self._context, self._outlets, self.copied)
        report_hook_lineage(self, self.copied)
