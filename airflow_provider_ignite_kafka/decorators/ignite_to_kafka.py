"""Decorator ``@task.ignite_to_kafka``: a function returns the settings of a copy of Ignite caches to Kafka topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from airflow.providers.common.compat.sdk import TaskDecorator, task_decorator_factory

from airflow_provider_ignite_kafka.decorators.settings_function import SettingsFunction
from airflow_provider_ignite_kafka.operators.ignite_to_kafka import IgniteToKafkaOperator


class IgniteToKafkaDecoratedOperator(SettingsFunction, IgniteToKafkaOperator):
    """Operator that copies Ignite caches to Kafka topics with the settings returned by a function."""

    custom_operator_name = "@task.ignite_to_kafka"
    template_fields: Sequence[str] = (*SettingsFunction.template_fields, "failover_policy", "snapshot_id")


def ignite_to_kafka_task(python_callable: Callable[..., Any] | None = None, **kwargs: Any) -> TaskDecorator:
    """Turn a function that returns settings into a task to copy Ignite caches to Kafka topics.

    ::

        @task.ignite_to_kafka(settings={"topic_prefix": "new-"}, retries=2)
        def copy(caches: list[str]) -> dict[str, object]:
            return {"cache_whitelist": caches}

    :param python_callable: the function.
    :param kwargs: arguments of :class:`~airflow_provider_ignite_kafka.operators.ignite_to_kafka.IgniteToKafkaOperator`.
    """
    # the task returns the counts of the copy, whatever the function's annotation says
    kwargs = {"multiple_outputs": False, **kwargs}
    return task_decorator_factory(
        python_callable=python_callable, decorated_operator_class=IgniteToKafkaDecoratedOperator, **kwargs
    )
