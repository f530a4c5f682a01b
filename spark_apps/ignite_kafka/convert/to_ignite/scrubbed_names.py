"""Original names of fields and types that Confluent's Avro converter changed by ``scrub.invalid.names``.

In scrubbed names, characters refused by Avro are replaced (``scrub.invalid.names``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..avro.names import scrubbed, scrubbed_full


@dataclass(frozen=True)
class ScrubbedNames:
    """Lookup of the original name for a name that the Avro converter scrubbed.

    :param types: original names of binary types, by scrubbed name.
    """

    types: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, types: Iterable[str]) -> ScrubbedNames:
        """Return the lookup for the given types, without types that share a scrubbed name."""
        full_names: dict[str, set[str]] = {}
        for name in types:
            full_names.setdefault(scrubbed_full(name), set()).add(name)
        return cls({name: names.pop() for name, names in full_names.items() if len(names) == 1})

    def type_name(self, name: str) -> str:
        """Return the original type name for a STRUCT's name; the same name if none is known."""
        return self.types.get(name, name)

    def fields(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return the original field names by scrubbed name, for the names that Avro refuses.

        Scrubbed names are in lower case, as Ignite ignores the case of names.
        """
        by_short: dict[str, list[str]] = {}
        for name in names:
            short = scrubbed(name)
            if short != name:
                by_short.setdefault(short.lower(), []).append(name)
        return by_short
