"""Counts and descriptions of the differences between a topic and its cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

EXAMPLES = 5
"""Maximum number of described differences; further differences are only counted."""
_EXAMPLE_CHARACTERS = 600

Kind = Literal["missing", "different", "unexpected", "skipped"]


@dataclass(frozen=True)
class Difference:
    """One difference between topic and cache: the key, and a text that describes it.

    :param key: key of the record or entry; its bytes give the order of differences. Empty for a difference without key.
    """

    kind: Kind
    key: bytes
    text: str


@dataclass(kw_only=True)
class Differences:
    """Number of entries, and of keys for each kind of difference.

    :param skipped: entries or records that cannot be converted, if the error policy skips them or sends them as dead
        letters; for a sink also keys of records that the cache refused, by the dead letters. They are no differences.
    :param keyless: those of `missing` that are noted without a key, such as an entry that cannot be read.
    :param changing: keys that got another record before each look, so that they were never compared at rest. They are
        no differences.
    :param limit: maximum number of described differences.
    :param keys: keys that differ, by kind, for a repair; None: the keys are only counted.
    """

    entries: int = 0
    missing: int = 0
    different: int = 0
    unexpected: int = 0
    skipped: int = 0
    keyless: int = 0
    changing: int = 0
    limit: int = EXAMPLES
    noted: list[Difference] = field(default_factory=list)
    keys: dict[Kind, set[bytes]] | None = None

    @property
    def equal(self) -> bool:
        """Whether every entry has its record and every record its entry."""
        return not self.count

    @property
    def count(self) -> int:
        """Number of differences."""
        return self.missing + self.different + self.unexpected

    def pop_keys(self) -> list[bytes]:
        """Return the differing keys, without skipped ones, and keep only their counts."""
        kinds: tuple[Kind, ...] = ("missing", "different", "unexpected")
        keys = set[bytes]().union(*((self.keys or {}).get(kind, set()) for kind in kinds))
        self.keys = None
        return sorted(keys - {b""})

    @property
    def examples(self) -> list[str]:
        """Texts of the first differences, in the order of their keys."""
        return [difference.text for difference in _select_first(self.noted, self.limit)]

    @property
    def differences(self) -> str:
        """Counts and examples of differences, as one line of text."""
        counts = ("missing", "different", "unexpected", *(["skipped"] if self.skipped else []))
        return "; ".join([", ".join(f"{name} {getattr(self, name)}" for name in counts), *self.examples])

    def note(self, kind: Kind, key: bytes, text: str) -> None:
        """Count a difference or a skipped key, and keep its text if it is among the first `limit` keys."""
        setattr(self, kind, getattr(self, kind) + 1)
        if kind == "missing" and not key:
            self.keyless += 1
        if self.keys is not None:
            self.keys.setdefault(kind, set()).add(key)
        self.noted.append(Difference(kind, key, text[:_EXAMPLE_CHARACTERS]))
        if len(self.noted) > 2 * self.limit:
            self.noted = _select_first(self.noted, self.limit)

    def add(self, other: Differences) -> None:
        """Add the differences of another comparison over other keys of the same cache."""
        for name in ("missing", "different", "unexpected", "skipped", "keyless", "changing"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.noted = _select_first([*self.noted, *other.noted], self.limit)


def _select_first(differences: list[Difference], count: int) -> list[Difference]:
    return sorted(differences, key=lambda difference: (difference.kind == "skipped", difference.key))[:count]
