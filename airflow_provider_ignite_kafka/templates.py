"""Rendering of templates that keeps text as text in Dags with ``render_template_as_native_obj``."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from jinja2.nativetypes import NativeEnvironment

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context
    from airflow.sdk import DAG


class TypedTemplates:
    """Operator mixin that keeps rendered text as text, where native rendering turns ``2024`` into a number.

    Jinja's native environment evaluates every text that looks like a Python literal, so that a connector's name
    ``2024`` from a form becomes a number, ``1e5`` another name and ``None`` no name. With this mixin text stays text,
    and lists, numbers and booleans keep their types: a template of one expression renders to the expression's value.
    """

    def _render(self, template: Any, context: Context, dag: DAG | None = None) -> Any:
        env = template.environment
        if not isinstance(env, NativeEnvironment):
            return super()._render(template, context, dag)  # type: ignore[misc]  # of Airflow's operator
        values: Any = copy.copy(context)  # as Airflow does: a dict would resolve every lazy value
        values.update((name, value) for name, value in template.globals.items() if name not in context)
        nodes = list(template.root_render_func(env.context_class(env, values, template.name, template.blocks)))
        return nodes[0] if len(nodes) == 1 else "".join(map(str, nodes))
