"""Form fields of an Ignite connection for Airflow 3.0 and 3.1, which ask the hook for them.

Airflow 3.2 reads the same from the provider info.
"""

from __future__ import annotations

from typing import Any

from airflow_provider_ignite_kafka import get_provider_info


def widgets() -> dict[str, Any]:
    """Make the form fields of an Ignite connection, by name.

    :raises ImportError: Airflow 3.0 has neither WTForms nor Flask-AppBuilder unless the FAB provider is installed; 3.1
        replaces both.
    """
    from flask_appbuilder.fieldwidgets import BS3PasswordFieldWidget, BS3TextFieldWidget
    from wtforms import BooleanField, IntegerField, PasswordField, StringField

    def form_field(field: dict[str, Any]) -> Any:
        schema = field["schema"]
        texts = {"description": field.get("description", ""), "default": schema.get("default")}
        match schema["type"][0], schema.get("format"):
            case "boolean", _:
                return BooleanField(field["label"], **texts)
            case "integer", _:
                return IntegerField(field["label"], widget=BS3TextFieldWidget(), **texts)
            case _, "password":
                return PasswordField(field["label"], widget=BS3PasswordFieldWidget(), **texts)
        return StringField(field["label"], widget=BS3TextFieldWidget(), **texts)

    return {name: form_field(field) for name, field in _declared()["conn-fields"].items()}


def behaviour() -> dict[str, Any]:
    """Return which standard fields the connection form hides, and labels and placeholders of the others."""
    return {name.replace("-", "_"): value for name, value in _declared()["ui-field-behaviour"].items()}


def _declared() -> dict[str, Any]:
    [declared] = get_provider_info()["connection-types"]
    return dict(declared)
