"""Base class of the TaskFlow operators, whose decorated function returns the copy's settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import DecoratedOperator, context_merge

from airflow_provider_ignite_kafka.airflow_api import determine_kwargs
from airflow_provider_ignite_kafka.operators.spark_copy import SparkCopyOperator
from airflow_provider_ignite_kafka.parse_check import check_settings, is_mapped
from airflow_provider_ignite_kafka.runs import result as run_result
from ignite_kafka.errors import SettingsError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context
    from airflow.providers.openlineage.extractors import OperatorLineage


class SettingsFunction(DecoratedOperator, SparkCopyOperator):
    """Operator that calls a user's function for settings, then copies with them.

    The settings are not rendered, because a text from a form or another system is no template. Arguments of the
    function and of the operator are rendered as usual. A deferred task calls the function again when its trigger has
    fired.

    :param python_callable: the function; returns settings by name.
    :param settings: settings that the function need not return; returned settings take precedence. Checked when the Dag
        is parsed. Templated.
    :param op_args: positional arguments of the function. Templated.
    :param op_kwargs: keyword arguments of the function. Templated.

    Other parameters: those of the operator.
    """

    template_fields: Sequence[str] = (*DecoratedOperator.template_fields, *SparkCopyOperator.template_fields)
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **DecoratedOperator.template_fields_renderers,
        **SparkCopyOperator.template_fields_renderers,
    }
    overwrite_rtif_after_execution = True  # the web UI shows the settings of the function
    _called = False

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        settings: Mapping[str, Any] | None = None,
        op_args: Collection[Any] | None = None,
        op_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            python_callable=python_callable,
            op_args=op_args,
            op_kwargs=op_kwargs,
            settings={} if settings is None else settings,
            **kwargs,
        )

    def check_settings(self) -> None:
        """Check the settings known when the Dag is parsed; those of the function are checked on the worker."""
        if not is_mapped(self):
            check_settings(self.settings, self.direction, {}, dag=self.dag_id, task=self.task_id, complete=False)

    def execute(self, context: Context) -> Any:
        """Call the function for settings, then copy with them.

        :raises AirflowFailException: the function returned no mapping, or a setting is wrong.
        """
        self._call(context)
        return super().execute(context)

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> Any:
        """Call the function again, and return the result of the run that the trigger has followed."""
        self._call(context)
        return super().execute_complete(context, event)

    def xcom_push(self, context: Context, key: str, value: Any) -> None:
        """Push an XCom; ``DecoratedOperator`` of Airflow 3.0 needs this method, which its operators lack."""
        context["ti"].xcom_push(key=key, value=value)

    def get_openlineage_facets_on_start(self) -> OperatorLineage[Any, Any]:
        """Return the planned lineage; empty before the function was called, as only it knows caches and topics."""
        if self._called:
            return super().get_openlineage_facets_on_start()
        from airflow.providers.openlineage.extractors import OperatorLineage

        return OperatorLineage()

    def _call(self, context: Context) -> None:
        context_merge(context, self.op_kwargs)
        returned = self.python_callable(*self.op_args, **determine_kwargs(self.python_callable, self.op_args, context))
        if not isinstance(returned, Mapping):
            error = SettingsError(
                f"{self.python_callable.__name__} returned {type(returned).__name__}, not a mapping of settings",
                "Return the settings by name, such as {'cache_whitelist': ['flights']}",
                dag=self.dag_id,
                task=self.task_id,
            )
            raise run_result.error_to_exception(error) from error
        assert isinstance(self.settings, Mapping)
        self.settings = {**self.settings, **returned}
        self._called = True
