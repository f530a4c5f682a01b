"""Result of comparing all entries of a cache."""

from __future__ import annotations

from dataclasses import dataclass, field

EXAMPLES = 5
"""Maximum number of differences described one by one; the others are only counted."""
_EXAMPLE_CHARACTERS = 600


@dataclass(kw_only=True)
class Comparison:
    """Number of entries, and of keys by kind of difference."""

    entries: int = 0
    missing: int = 0
    different: int = 0
    unexpected: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether every entry was found unchanged, and nothing else."""
        return not (self.missing or self.different or self.unexpected)

    @property
    def differences(self) -> str:
        """The counts and the examples, in a line."""
        return "; ".join([f"missing {self.missing}, different {self.different}, unexpected {self.unexpected}", *self.examples])

    def note(self, example: str) -> None:
        """Keep an example, shortened, if there is room."""
        if len(self.examples) < EXAMPLES:
            self.examples.append(example[:_EXAMPLE_CHARACTERS])
