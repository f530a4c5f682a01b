"""What a comparison finds that goes through all entries of a cache."""

from __future__ import annotations

from dataclasses import dataclass, field

EXAMPLES = 5
"""So many differences are told one by one; the others are counted."""
_EXAMPLE_CHARACTERS = 600


@dataclass(kw_only=True)
class Comparison:
    """``entries`` of the cache, and how many keys differ in which way from what must be like it."""

    entries: int = 0
    missing: int = 0
    different: int = 0
    unexpected: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Each entry is found again and is the same, and nothing is found that the cache does not have."""
        return not (self.missing or self.different or self.unexpected)

    @property
    def differences(self) -> str:
        """The counts and the examples, in a line."""
        return "; ".join([f"missing {self.missing}, different {self.different}, unexpected {self.unexpected}", *self.examples])

    def note(self, example: str) -> None:
        """Keep an example, shortened, if there is room."""
        if len(self.examples) < EXAMPLES:
            self.examples.append(example[:_EXAMPLE_CHARACTERS])
