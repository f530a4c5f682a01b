"""Findings of `ignite-kafka doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

from ..errors import IgniteKafkaError

OK = "ok"
WARNING = "warning"
FAILED = "FAILED"


@dataclass(frozen=True)
class Finding:
    """Result of one check.

    :param subject: the checked server or part, such as ``Ignite node 10.0.0.1:10800``.
    :param state: OK, WARNING or FAILED.
    :param text: result in words.
    :param remedy: remedy in words; empty if no remedy is needed.
    """

    subject: str
    state: str
    text: str
    remedy: str = ""


@dataclass(frozen=True)
class Server:
    """A server that each executor must reach.

    :param addresses: ``host:port``; one reachable address is enough.
    """

    subject: str
    addresses: tuple[str, ...]


@dataclass
class Diagnosis:
    """Collector of the findings, in the order of the checks.

    :param servers: servers of the clusters and registries.
    """

    findings: list[Finding] = field(default_factory=list)
    servers: list[Server] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a check failed, so that a run would not work."""
        return any(finding.state == FAILED for finding in self.findings)

    def add(self, subject: str, state: str, text: str, remedy: str = "") -> None:
        """Add a finding."""
        self.findings.append(Finding(subject, state, text, remedy))

    @contextmanager
    def failures_of(self, subject: str) -> Iterator[None]:
        """Turn an error raised in the block into a finding."""
        try:
            yield
        except IgniteKafkaError as error:
            places = ", ".join(f"{name} {value}" for name, value in error.where.items())
            self.add(subject, FAILED, f"{error.what} [{places}]" if places else error.what, error.advice)

    def to_dict(self) -> dict[str, object]:
        """Return the findings as JSON values."""
        return {"works": not self.failed, "findings": [asdict(finding) for finding in self.findings]}
