"""Names of fields and types as converter `avro` writes them.

Characters that Avro refuses are replaced (``scrub.invalid.names``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..avro.names import scrubbed, scrubbed_full


@dataclass(frozen=True)
class ScrubbedNames:
    """Finds the original names of scrubbed names.

    :param types: names of binary types by their scrubbed ones.
    """

    types: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, types: Iterable[str]) -> ScrubbedNames:
        """Return the scrubbed names of these types; types with the same scrubbed name are left out."""
        full_names: dict[str, set[str]] = {}
        for name in types:
            full_names.setdefault(scrubbed_full(name), set()).add(name)
        return cls({name: names.pop() for name, names in full_names.items() if len(names) == 1})

    def type_name(self, name: str) -> str:
        """Return the name of the type for a STRUCT's name."""
        return self.types.get(name, name)

    def fields(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return the fields that Avro refuses, by their scrubbed names.

        These are in lower case, as Ignite's names have no case.
        """
        by_short: dict[str, list[str]] = {}
        for name in names:
            short = scrubbed(name)
            if short != name:
                by_short.setdefault(short.lower(), []).append(name)
        return by_short
