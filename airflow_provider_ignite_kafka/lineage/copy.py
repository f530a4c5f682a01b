"""Lineage of the copying operators for Airflow's OpenLineage provider, and Spark's link to the task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import conf

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context
    from airflow.providers.openlineage.extractors import OperatorLineage

    from airflow_provider_ignite_kafka.assets.copied import Copied
    from airflow_provider_ignite_kafka.runs.request import Request


class CopyLineage:
    """Operator mixin that reports copied caches and topics to OpenLineage.

    OpenLineage's listener calls the mixin in a fork of the task, and ends the fork after `execution_timeout`.
    """

    _copied: tuple[Request, Copied] | None = None
    """Request of the ended run, and the data copied by the run."""

    def _lineage_request(self) -> Request:
        """Build the request of a run, to learn its settings and connections."""
        raise NotImplementedError

    def get_openlineage_facets_on_start(self) -> OperatorLineage[Any, Any]:
        """Return the caches and topics to be copied, with columns, as far as they are known at the start."""
        from airflow_provider_ignite_kafka.lineage.openlineage import planned_datasets
        from ignite_kafka.events import muted

        with muted():  # execute() reads the settings again
            return planned_datasets(self._lineage_request())

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any]:
        """Return the caches and topics that the run copied, with columns and counts."""
        from airflow_provider_ignite_kafka.lineage.openlineage import copied_datasets

        if self._copied is None or not self._copied[1].caches:
            return self.get_openlineage_facets_on_start()
        return copied_datasets(*self._copied)

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> OperatorLineage[Any, Any]:
        """Return the caches and topics of a failed run, with the counts until its failure."""
        return self.get_openlineage_facets_on_complete(task_instance)


def injects_parent_job(argument: bool | None) -> bool:
    """Return whether Spark's lineage should name this task as its parent job.

    The argument decides or, without it, the option that the Spark provider's operator has, too.
    """
    if argument is not None:
        return argument
    return bool(conf.getboolean("openlineage", "spark_inject_parent_job_info", fallback=False))


def with_parent_job(conf: Mapping[str, Any], context: Context, *, inject: bool) -> dict[str, Any]:
    """Add Spark properties by which OpenLineage's Spark listener names this task as its parent job.

    :param conf: Spark properties of the user; with a property that begins with ``spark.openlineage.parent``, no other
        property is added.
    :param inject: whether to add the properties; without the OpenLineage provider a warning is logged.
    """
    if not inject:
        return dict(conf)
    from airflow.providers.common.compat.openlineage.utils.spark import (
        inject_parent_job_information_into_spark_properties,
    )

    return dict(inject_parent_job_information_into_spark_properties(dict(conf), context))
