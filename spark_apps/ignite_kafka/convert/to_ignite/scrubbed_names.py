"""Names of fields and types as converter `avro` writes them.

Characters that Avro refuses are replaced (``scrub.invalid.names``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..avro.names import scrubbed, scrubbed_full


@dataclass(frozen=True)
class ScrubbedNames:
    """Finds what scrubbed names are of.

    :param types: names of binary types by their scrubbed ones.
    """

    types: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, types: Iterable[str]) -> ScrubbedNames:
        """With the types of these names; one whose scrubbed name is that of another is left out."""
        found: dict[str, set[str]] = {}
        for name in types:
            found.setdefault(scrubbed_full(name), set()).add(name)
        return cls({name: names.pop() for name, names in found.items() if len(names) == 1})

    def type_name(self, name: str) -> str:
        """The name of the type that a STRUCT's name is of."""
        return self.types.get(name, name)

    def fields(self, names: Iterable[str]) -> dict[str, list[str]]:
        """The fields that Avro refuses by their scrubbed names in lower case, as Ignite's names have no case."""
        found: dict[str, list[str]] = {}
        for name in names:
            short = scrubbed(name)
            if short != name:
                found.setdefault(short.lower(), []).append(name)
        return found
