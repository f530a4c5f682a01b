"""Decorator ``@task.kafka_to_ignite``: a function returns the settings of a copy of Kafka topics to Ignite caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from airflow.providers.common.compat.sdk import TaskDecorator, task_decorator_factory

from airflow_provider_ignite_kafka.decorators.settings_function import SettingsFunction
from airflow_provider_ignite_kafka.operators.kafka_to_ignite import KafkaToIgniteOperator


class KafkaToIgniteDecoratedOperator(SettingsFunction, KafkaToIgniteOperator):
    """Operator that copies Kafka topics to Ignite caches with the settings returned by a function."""

    custom_operator_name = "@task.kafka_to_ignite"


def kafka_to_ignite_task(python_callable: Callable[..., Any] | None = None, **kwargs: Any) -> TaskDecorator:
    """Turn a function that returns settings into a task to copy Kafka topics to Ignite caches.

    ::

        @task.kafka_to_ignite(settings={"topic_prefix": "new-", "process_updates": True}, retries=2)
        def store(topics: list[str]) -> dict[str, object]:
            return {"topics": topics}

    :param python_callable: the function.
    :param kwargs: arguments of :class:`~airflow_provider_ignite_kafka.operators.kafka_to_ignite.KafkaToIgniteOperator`.
    """
    # the task returns the counts of the copy, whatever the function's annotation says
    kwargs = {"multiple_outputs": False, **kwargs}
    return task_decorator_factory(
        python_callable=python_callable, decorated_operator_class=KafkaToIgniteDecoratedOperator, **kwargs
    )
