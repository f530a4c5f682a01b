"""Search of the page's list, by words and by state.

The server marks the rows that do not match as hidden, so that a search works without a script; the page's script hides
and shows the same rows while the reader types.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow.providers.common.compat.sdk import redact

from airflow_provider_ignite_kafka.plugins.views import WITH_PROBLEM, ConnectorRow

_LONGEST_TEXT = 200


@dataclass(frozen=True)
class Search:
    """Search for connectors whose row has each word of ``text``, and the state ``state``; empty: all."""

    text: str = ""
    state: str = ""

    @staticmethod
    def of(text: str, state: str) -> Search:
        """Return the search of a request; what exceeds the longest text is ignored."""
        return Search(text[:_LONGEST_TEXT], state[:_LONGEST_TEXT].upper())

    def matches(self, row: ConnectorRow) -> bool:
        """Return whether a row is one of those searched for."""
        if self.state and self.state not in row.searched_states:
            return False
        # masked as on the page, so that nobody finds a secret by searching for its parts
        searched = str(redact(row.searched_text)).lower()
        return all(word in searched for word in self.text.lower().split())


def states(rows: Iterable[ConnectorRow]) -> list[str]:
    """Return the states to choose from: those of the rows, and first the choice of rows with a problem."""
    return [WITH_PROBLEM, *sorted({row.state for row in rows})]
