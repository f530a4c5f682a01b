"""Filters of entries: conditions in Spark SQL, evaluated on Arrow columns, and functions of users.

:func:`entry_filter` returns the filter of a cache or topic, :class:`Filters` has the filters of all caches or topics.

Imports ignite, settings and sql; source, sink and admin import it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import events
from ...errors import SettingsError, UnsupportedType
from ...sql.tokens import Refused

if TYPE_CHECKING:
    from ...settings.connector import ConnectorSettings
    from .entries import EntryFilter

__all__ = ["Filters", "check_conditions", "entry_filter"]


def check_conditions(settings: ConnectorSettings) -> None:
    """Check the constants in the filter conditions of a connector and its overrides, without connecting to a cluster.

    :raises SettingsError: a constant has no value, such as ``1 / 0``, or its type cannot be used there.
    """
    for variant in settings.variants:
        try:
            entry_filter_of(variant.where)
        except UnsupportedType as error:
            raise variant.wrong("where", error.what, error.remedy) from error


def entry_filter(settings: ConnectorSettings, name: str) -> EntryFilter | None:
    """Return the filter for the entries of a cache (source) or topic (sink); None if every entry is kept.

    :raises SettingsError: the function cannot be imported; event 15050.
    """
    chosen = settings.of(name)
    return entry_filter_of(chosen.where, chosen.filter, chosen.date_time_zone)


def entry_filter_of(where: str, function: str = "", zone: str = "UTC") -> EntryFilter | None:
    """Return the filter for a condition and a user's function; None if both are empty.

    It raises the errors of :func:`entry_filter`.

    :raises UnsupportedType: the condition is wrong; one of a connector's settings was checked with them.
    """
    if not (where or function):
        return None
    from ...common.user_functions import FILTER, user_function
    from .entries import EntryFilter

    try:
        return EntryFilter(where, user_function(function, FILTER, setting="filter") if function else None, zone)
    except SettingsError as error:
        events.emit(events.FILTER_NOT_MADE, **{"reason": error.what, **error.where})
        raise
    except Refused as refused:
        raise UnsupportedType(f"the condition is wrong: {refused}", "Correct the condition.") from refused


class Filters:
    """Filters by cache or topic; caches or topics with the same settings share one."""

    def __init__(self, settings: ConnectorSettings) -> None:
        self._settings = settings
        self._filters: dict[str | None, EntryFilter | None] = {}

    def of(self, name: str) -> EntryFilter | None:
        """Return the filter for the entries of a cache or topic, as :func:`entry_filter` does."""
        override = self._settings.override_of(name)
        if override not in self._filters:
            self._filters[override] = entry_filter(self._settings, name)
        return self._filters[override]
