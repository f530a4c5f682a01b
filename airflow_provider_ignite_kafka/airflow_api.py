"""Adapter for the parts of Airflow that differ between its versions, and for private names.

docs/airflow.md lists the missing features.

The provider imports names that differ between the supported versions of Airflow, and private names, from here only.
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

The version alone decides which names are used: if Airflow lacks a name that its version should have, that is an error,
and not silently treated like an older version.
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
        """Substitute for Airflow's mixin of resumable jobs, in versions without a task state store.

        It submits a job, or lets the operator find the job of an earlier try, and waits for the job.

        The stand-in of the common-compat provider sets ``durable`` to false. Here a try that finds an earlier run in
        Kafka follows this run.
        """

        def __init__(self, *, durable: bool = True, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.durable = durable

        def execute_resumable(self, context: Context) -> Any:
            """Submit the Spark job, wait for its end, and return its result."""
            external_id = self.submit_job(context)
            self.poll_until_complete(external_id, context)
            return self.get_job_result(external_id, context)


__all__ = ["ResumableJobMixin", "determine_kwargs", "literal", "mask_secret"]
READS_CONN_FIELDS = VERSION >= (3, 2)
"""Whether the connection form takes its fields from the provider info, and not from methods of the hook."""


def calls_on_kill() -> bool:
    """Return whether Airflow calls a trigger's ``on_kill`` when a user clears or ends its task.

    This holds since Airflow 3.3.
    """
    return VERSION >= (3, 3)


def ask_supervisor_in(loop: AbstractEventLoop | None) -> None:
    """Make requests of this thread to Airflow, such as for a connection, go through the triggerer's event loop.

    Before Airflow 3.2 a request from a thread without that loop is answered in a loop of its own, beside those of the
    triggerer. The loops read each other's answers, which ends the triggerer: *Response read out of order*.

    :param loop: the loop of the triggers; None: the thread is not of a trigger.
    """
    if VERSION < (3, 2) and loop is not None:
        from asgiref.sync import SyncToAsync

        # as the triggerer's own threads do; there is no public function
        SyncToAsync.threadlocal.main_event_loop = loop
        SyncToAsync.threadlocal.main_event_loop_pid = os.getpid()


def task_store(context: Context) -> Any:
    """Return the store in which a task keeps values across its tries; None before Airflow 3.3."""
    return dict(context).get("task_state_store")


def keep(store: Any, key: str, value: Any) -> None:
    """Store a value for later tries of a task, until its Dag run is removed."""
    from airflow.sdk.execution_time.context import NEVER_EXPIRE

    store.set(key, value, retention=NEVER_EXPIRE)


def asset_stores(shared: Any) -> list[Any]:
    """Return the state stores of the assets that a trigger watches; none before Airflow 3.3 and in a task.

    Airflow merges equal triggers into one, so several assets may share this trigger. Each store gets the state,
    because the trigger must keep the state when one of the assets leaves.

    :param shared: attribute `asset_state_store` of the trigger.
    """
    if shared is None:
        return []
    by_asset = {**getattr(shared, "_by_name", {}), **getattr(shared, "_by_uri", {})}  # no public method lists them
    return [by_asset[name] for name in sorted(by_asset)] or [shared]


def configure_stats() -> None:
    """Configure Airflow's Stats in a trigger's process, because the triggerer configures only its own.

    Before Airflow 3.2 Stats configures itself when it is first used.
    """
    if VERSION >= (3, 2):
        import airflow.sdk.serde  # noqa: F401  # configures Stats when it is imported; there is no public function


def task_states(task: Any) -> Iterable[str]:
    """Read the states of a deferred task from its trigger, to see whether the task was ended.

    :param task: the task instance of the trigger.
    """
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    states = RuntimeTaskInstance.get_task_states(
        dag_id=task.dag_id, task_ids=[task.task_id], run_ids=[task.run_id], map_index=task.map_index
    )
    return {str(state) for state in states.get(task.run_id, {}).values()}
