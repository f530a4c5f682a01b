"""Redaction of this process's messages: keys and values of records, and values of config providers.

Keys and values of entries and records are shown as the setting `log_values` says. Values of config providers are never
shown: messages about settings and transforms pass through :func:`mask_hidden_values`. Messages are made far
from the settings, in the codec and the converters. So both are states of the process, set when the command line or the
app has read its settings, and by each Spark task when it begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

HIDDEN = "(hidden: log_values is false)"
_PROVIDED = "(value of a config provider)"
_SHORT = 4  # characters; a shorter value may be part of many words, and is hidden only as a whole word
_show = True
_hidden: set[str] = set()


def set_log_values(show: bool) -> None:
    """Set whether this process's messages show keys and values of records, as setting `log_values` says."""
    global _show
    _show = show


def in_message(text: object) -> str:
    """Return a key or value as text for a message, or a placeholder if messages must not show it."""
    return str(text) if _show else HIDDEN


def register_hidden_value(value: str) -> None:
    """Register a config provider's value, so that :func:`mask_hidden_values` masks it in messages."""
    if value.strip():
        _hidden.add(value)


def hidden_values() -> tuple[str, ...]:
    """Return the values masked in this process, so that a process it starts can mask them, too."""
    return tuple(sorted(_hidden))


def register_hidden_values(values: Iterable[str]) -> None:
    """Register the values masked in the parent process, to mask them in this process too."""
    for value in values:
        register_hidden_value(value)


def mask_hidden_values(text: str) -> str:
    """Mask the values of config providers in a message, also where quoted as in Python or JSON."""
    if not _hidden:
        return text
    forms = {
        form for value in hidden_values() for form in (value, value.strip(), repr(value)[1:-1], json.dumps(value)[1:-1])
    }
    patterns = [
        re.escape(form) if len(form) >= _SHORT else rf"(?<!\w){re.escape(form)}(?!\w)"
        for form in sorted(forms, key=len)
    ]
    return re.sub("|".join(reversed(patterns)), _PROVIDED, text)  # the longest first, because it may contain others
