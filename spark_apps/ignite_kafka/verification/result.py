"""Options and result of comparing a connector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import SettingsError
from ..state.comparisons import COUNTS
from .coverage import SamplePlan
from .direction import Judged
from .key_slices import slices_of


@dataclass(frozen=True)
class VerifyOptions:
    """Options of a comparison: how many keys, how thoroughly, and whether to repair.

    :param percent: share of the keys to compare, more than 0 and at most 100; each comparison takes those that were not
        compared for the longest time. None: all, or as many as `within_ms` requires.
    :param thorough: decode all entries by rows too, not only every 256th; only JSON has such a decoder.
    :param limit: maximum number of described differences a cache.
    :param repair: send records, or put entries, again where they differ.
    :param force: repair although the newest run's status record shows no end.
    :param repair_at_most: repair nothing if more keys differ; 0: no maximum.
    :param within_ms: time in milliseconds within which all keys are to be compared; 0: none.
    :param recheck_wait_ms: maximum wait beside a run, until it has copied what it has to copy, before a difference
        counts; in milliseconds.
    """

    percent: float | None = None
    thorough: bool = False
    limit: int = 5
    repair: bool = False
    force: bool = False
    repair_at_most: int = 0
    within_ms: int = 0
    recheck_wait_ms: int = 60_000

    @property
    def sample(self) -> SamplePlan:
        """The share of the keys to compare."""
        return SamplePlan(None if self.percent is None else slices_of(self.percent), self.within_ms)

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> VerifyOptions:
        """Build options from the JSON values of an app's argument.

        :raises SettingsError: an option is unknown.
        """
        try:
            return VerifyOptions(**values)
        except TypeError as error:
            raise SettingsError(f"the options of the comparison are wrong: {error}", setting="options") from None


@dataclass(frozen=True)
class VerifyResult:
    """Result of comparing a connector: one result for each cache, and the percentage of compared keys.

    :param oldest_ms: no key was last compared before this time, in milliseconds since 1970; None: some keys never were,
        or it is unknown.
    :param gap: why not all keys are compared within the named time; empty if they are, or if none is named.
    :param repair_at_most: maximum number of differences for a repair; 0: no maximum, or no repair.
    """

    caches: Sequence[Judged]
    sample: float
    oldest_ms: int | None = None
    gap: str = ""
    repair_at_most: int = 0

    @property
    def equal(self) -> bool:
        """Whether nothing differs, or every difference was repaired."""
        return all(judged.equal for judged in self.caches)

    @property
    def repair_refusal(self) -> str:
        """Why nothing was repaired: more keys differ than a repair may change; empty otherwise."""
        differences = sum(judged.result.count for judged in self.caches)
        if not 0 < self.repair_at_most < differences or any(judged.repaired for judged in self.caches):
            return ""
        return (
            f"nothing was repaired: {differences} keys differ, and a repair may change {self.repair_at_most}. Look at "
            "the differences; if a repair is right, allow more"
        )

    def to_dict(self) -> dict[str, object]:
        """Return the result as a dict for JSON output."""
        return {
            "equal": self.equal,
            "sample_percent": self.sample,
            "oldest_ms": self.oldest_ms,
            "gap": self.gap,
            "repair_refusal": self.repair_refusal,
            "caches": [_to_dict(judged) for judged in self.caches],
        }


def _to_dict(judged: Judged) -> dict[str, object]:
    counts = asdict(judged.result)
    differences = [{"kind": difference.kind, "text": difference.text} for difference in judged.result.noted]
    return {
        **{name: counts[name] for name in ("cache", "topic", *COUNTS)},
        "repaired": judged.repaired,
        "equal": judged.equal,
        "differences": differences,
    }
