"""Whether messages of this process show keys and values of entries and records: the setting `log_values`.

Errors are built far from the settings, in the codec and the converters. So it is a switch of the process, set when the command line or the
app has read its settings, and by each Spark task when it begins.
"""

from __future__ import annotations

HIDDEN = "(hidden: log_values is false)"
_show = True


def set_log_values(show: bool) -> None:
    """Have messages show keys and values from now on, or hide them."""
    global _show
    _show = show


def in_message(text: object) -> str:
    """A key, a value or a part of one, as a message may show it."""
    return str(text) if _show else HIDDEN
