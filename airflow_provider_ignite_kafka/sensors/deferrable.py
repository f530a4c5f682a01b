"""Base class of sensors that can wait in the triggerer instead of a worker.

With this class `soft_fail` and `never_fail` have the same meaning on every version of Airflow.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowSensorTimeout,
    AirflowSkipException,
    BaseSensorOperator,
    PokeReturnValue,
    conf,
)

from airflow_provider_ignite_kafka.templates import TypedTemplates

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context
    from airflow.triggers.base import BaseTrigger


class DeferrableSensor(TypedTemplates, BaseSensorOperator):
    """Sensor base that checks its condition once in the worker and then, if `deferrable`, waits in the triggerer.

    A deferred sensor fails and skips like a poking sensor: an error of the first check goes through Airflow's own loop;
    after a deferral, `soft_fail` and `never_fail` skip the task. Airflow 3.0 itself does not apply them if a deferral
    times out.

    :param deferrable: wait in the triggerer. Default: option `[operators] default_deferrable`.
    """

    def __init__(
        self, *, deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False), **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.deferrable = deferrable
        self._deadline = 0.0  # set when the task begins

    @abstractmethod
    def check(self, context: Context) -> PokeReturnValue:
        """Check once, in the worker, whether the condition waited for is met."""

    @abstractmethod
    def trigger(self, context: Context) -> BaseTrigger:
        """Make the trigger that waits for the condition in the triggerer."""

    def execute(self, context: Context) -> Any:
        """Wait until the condition is met, and return the value of the successful check.

        :raises AirflowSensorTimeout: no check succeeded in time.
        :raises AirflowFailException: no later check can succeed.
        """
        self._deadline = time.time() + self.timeout
        return super().execute(context)

    def poke(self, context: Context) -> PokeReturnValue:
        """Check the condition once; if it is not met and the sensor is deferrable, defer."""
        result = self.check(context)
        if not result and self.deferrable:
            self.wait(context, self._deadline)
        return result

    def wait(self, context: Context, deadline: float) -> NoReturn:
        """Defer the task until its trigger fires, at most until the deadline.

        :param deadline: end of the wait, in seconds since 1970.
        :raises AirflowSensorTimeout: the deadline has passed.
        """
        left = deadline - time.time()
        if left <= 0:
            raise AirflowSensorTimeout(f"Sensor has timed out; its condition was not met within {self.timeout} s.")
        self.defer(
            trigger=self.trigger(context),
            method_name="execute_complete",
            kwargs={"deadline": deadline},
            timeout=timedelta(seconds=left),
        )

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Continue the deferred task, applying `soft_fail` and `never_fail` to its errors; called by Airflow."""
        try:
            return super().resume_execution(next_method, next_kwargs, context)
        except AirflowSkipException:
            raise
        except AirflowException as error:
            for name in ("soft_fail", "never_fail"):
                if getattr(self, name):
                    raise AirflowSkipException(f"Skipping because {name} is set: {error}") from error
            raise
