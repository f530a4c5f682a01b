"""Parts of Airflow that differ between its versions, or are missing in older ones.

docs/airflow.md says what is lost then.

The provider imports names that differ between the supported versions of Airflow from here only, and the private names
that it needs, too.
"""

from __future__ import annotations

import os
from asyncio import AbstractEventLoop
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import airflow
from airflow.sdk.log import mask_secret

VERSION = tuple(int(part) for part in airflow.__version__.split(".")[:2])
"""Major and minor version of Airflow.

It alone decides what is used: a name that a version should have and has not is an error, not the way of an older
version in silence.
"""
if VERSION >= (3, 1):
    from airflow.sdk import literal
else:
    from airflow.sdk.definitions.template import literal
if VERSION >= (3, 2):
    from airflow.sdk.bases.decorator import determine_kwargs
else:
    from airflow.utils.operator_helpers import determine_kwargs  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context
    from airflow.sdk import ResumableJobMixin
elif VERSION >= (3, 3):
    from airflow.sdk import ResumableJobMixin
else:

    class ResumableJobMixin:
        """Operator mixin without a task state store.

        Submit a job, or let the operator find that of an earlier try, and wait for it.

        The stand-in of the common-compat provider sets ``durable`` to false. Here a try that finds its run in Kafka
        follows it.
        """

        def __init__(self, *, durable: bool = True, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.durable = durable

        def execute_resumable(self, context: Context) -> Any:
            """Submit the job, wait for its end and return its result."""
            external_id = self.submit_job(context)
            self.poll_until_complete(external_id, context)
            return self.get_job_result(external_id, context)


__all__ = ["ResumableJobMixin", "determine_kwargs", "literal", "mask_secret"]
READS_CONN_FIELDS = VERSION >= (3, 2)
"""Whether the connection form takes its fields from the provider info; else from methods of the hook."""


def calls_on_kill() -> bool:
    """Whether the triggerer calls ``on_kill`` of a trigger whose task a user has cleared or ended.

    Since Airflow 3.3.
    """
    return VERSION >= (3, 3)


def ask_supervisor_in(loop: AbstractEventLoop | None) -> None:
    """Send requests of this thread to the supervisor of triggers, such as for a connection, in an event loop.

    Before Airflow 3.2 a request from a thread without that loop is answered in a loop of its own, beside those of the
    triggerer. The two read each other's answers, which ends the triggerer: *Response read out of order*.

    :param loop: the loop of the triggers; None: the thread is not of a trigger.
    """
    if VERSION < (3, 2) and loop is not None:
        from asgiref.sync import SyncToAsync

        # as its own threads do; there is no public function
        SyncToAsync.threadlocal.main_event_loop = loop
        SyncToAsync.threadlocal.main_event_loop_pid = os.getpid()


def task_store(context: Context) -> Any:
    """The task's state store; None before Airflow 3.3."""
    return dict(context).get("task_state_store")


def keep(store: Any, key: str, value: Any) -> None:
    """Keep a value in a task's state store until its Dag run is removed."""
    from airflow.sdk.execution_time.context import NEVER_EXPIRE

    store.set(key, value, retention=NEVER_EXPIRE)


def asset_stores(shared: Any) -> list[Any]:
    """The state store of each watched asset; none before Airflow 3.3 and in a task.

    Airflow merges equal triggers into one, so that several assets may share this one. Each store gets the state,
    because the trigger must keep it when one of the assets leaves.

    :param shared: attribute `asset_state_store` of the trigger.
    """
    if shared is None:
        return []
    by_asset = {**getattr(shared, "_by_name", {}), **getattr(shared, "_by_uri", {})}  # no public method lists them
    return [by_asset[name] for name in sorted(by_asset)] or [shared]


def configure_stats() -> None:
    """Configure Stats in a process of triggers: the triggerer does so for its own process only.

    Before Airflow 3.2 Stats configures itself when it is first used.
    """
    if VERSION >= (3, 2):
        import airflow.sdk.serde  # noqa: F401  # configures Stats when it is imported; there is no public function


def task_states(task: Any) -> Iterable[str]:
    """States of a deferred task, in a trigger.

    :param task: the task instance of the trigger.
    """
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    states = RuntimeTaskInstance.get_task_states(
        dag_id=task.dag_id, task_ids=[task.task_id], run_ids=[task.run_id], map_index=task.map_index
    )
    return {str(state) for state in states.get(task.run_id, {}).values()}
