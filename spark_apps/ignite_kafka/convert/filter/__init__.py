"""Filters of entries: conditions in Spark SQL, evaluated on Arrow columns, and functions of the user.

:func:`entry_filter` gives the filter that settings choose, :class:`Filters` those of all caches or topics.
Imports ignite, settings and sql; source, sink and admin import it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import events
from ...errors import SettingsError

if TYPE_CHECKING:
    from ...settings.connector import ConnectorSettings
    from .entries import EntryFilter

__all__ = ["Filters", "entry_filter"]


def entry_filter(settings: ConnectorSettings, name: str) -> EntryFilter | None:
    """The filter of a cache (source) or topic (sink); None: every entry is kept.

    :raises SettingsError: the function cannot be imported; event 15050.
    """
    chosen = settings.of(name)
    if not (chosen.where or chosen.filter):
        return None
    from .entries import EntryFilter
    from .user_function import mask_function

    try:
        return EntryFilter(chosen.where, mask_function(chosen.filter) if chosen.filter else None, chosen.date_time_zone)
    except SettingsError as error:
        events.emit(events.FILTER_NOT_MADE, **{"reason": error.what, **error.where})
        raise


class Filters:
    """The filter of each cache or topic, made once for all of the same settings."""

    def __init__(self, settings: ConnectorSettings) -> None:
        self._settings = settings
        self._made: dict[str | None, EntryFilter | None] = {}

    def of(self, name: str) -> EntryFilter | None:
        """The filter of one of them, as :func:`entry_filter` gives it."""
        override = self._settings.override_of(name)
        if override not in self._made:
            self._made[override] = entry_filter(self._settings, name)
        return self._made[override]
