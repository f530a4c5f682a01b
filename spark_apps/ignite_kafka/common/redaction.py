"""What messages of this process do not show.

Keys and values of entries and records are shown as the setting `log_values` says. Values of config providers never are:
messages about settings and transforms pass through :func:`without_hidden`. Messages are made far from the settings, in
the codec and the converters. So both are states of the process, set when the command line or the app has read its
settings, and by each Spark task when it begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

HIDDEN = "(hidden: log_values is false)"
_PROVIDED = "(value of a config provider)"
_SHORT = 4  # characters; a shorter value is a part of many words, and is hidden only where it stands alone
_show = True
_hidden: set[str] = set()


def set_log_values(show: bool) -> None:
    """Have messages show keys and values from now on, or hide them."""
    global _show
    _show = show


def in_message(text: object) -> str:
    """Return a key, a value or a part of one as text for a message, masked unless messages may show it."""
    return str(text) if _show else HIDDEN


def hide_value(value: str) -> None:
    """Have :func:`without_hidden` hide a value that a config provider gave."""
    if value.strip():
        _hidden.add(value)


def hidden_values() -> tuple[str, ...]:
    """Return the values hidden by this process, for a process started by it."""
    return tuple(sorted(_hidden))


def hide_values(values: Iterable[str]) -> None:
    """Hide the values that another process hides."""
    for value in values:
        hide_value(value)


def without_hidden(text: str) -> str:
    """Mask the values of config providers in a message, plain and as literals of Python and JSON."""
    if not _hidden:
        return text
    forms = {form for value in _hidden for form in (value, value.strip(), repr(value)[1:-1], json.dumps(value)[1:-1])}
    patterns = [
        re.escape(form) if len(form) >= _SHORT else rf"(?<!\w){re.escape(form)}(?!\w)"
        for form in sorted(forms, key=len)
    ]
    return re.sub("|".join(reversed(patterns)), _PROVIDED, text)  # the longest first, which may contain others
