"""Pages of docs/ that are generated from the code: ``make pages`` writes them, a test compares them."""

from __future__ import annotations

from . import events, options, settings

PAGES = {"settings.md": settings.page, "options.md": options.page, "events.md": events.page}
"""Name of the file in docs/, and the function that returns its text."""
