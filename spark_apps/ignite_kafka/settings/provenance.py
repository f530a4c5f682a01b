"""Settings of the headers that tell a record's origin, and their check."""

from __future__ import annotations

from typing import Protocol

from ..errors import SettingsError
from .base import setting
from .converters import BYTES
from .fields import LINE, TEXTS
from .findings import Findings

PROVENANCE = ("connector", "run", "cluster", "cache", "partition", "update_counter", "time")
"""Headers that setting provenance_headers may name, in the order in which they are written."""

HEADERS = setting(
    (), TEXTS,
    f"Headers ignite_kafka.<name> of each record, by header_converter. Names: {', '.join(PROVENANCE)}. "
    "update_counter is that of a change in its partition, and scanned entries have none; time is that of the "
    "change, or of the scan; cluster is cluster_name. Records with headers cost about 2 µs more each",
    fixed_in_snapshot=True,
)  # fmt: skip
CLUSTER_NAME = setting(
    "", LINE,
    "Name of the Ignite cluster, for header cluster of provenance_headers; Ignite reports no name to clients",
    fixed_in_snapshot=True,
)  # fmt: skip


class WithHeaders(Protocol):
    """Settings of a source with headers of provenance."""

    @property
    def provenance_headers(self) -> tuple[str, ...]:
        """Names of the headers."""

    @property
    def cluster_name(self) -> str:
        """Name of the Ignite cluster."""

    @property
    def header_converter(self) -> str:
        """Serialization of headers."""

    def wrong(self, name: str, reason: str, remedy: str) -> SettingsError:
        """Return the error of a wrong setting."""


def check_headers(settings: WithHeaders, findings: Findings) -> None:
    """Check that the headers exist and can be written."""
    with findings.check("provenance_headers", "header_converter", "cluster_name"):
        unknown = [name for name in settings.provenance_headers if name not in PROVENANCE]
        if unknown:
            raise settings.wrong("provenance_headers", f"there is no {unknown[0]!r}", f"Names: {', '.join(PROVENANCE)}")
        if "cluster" in settings.provenance_headers and not settings.cluster_name:
            raise settings.wrong(
                "cluster_name", "it is empty, and provenance_headers has cluster", "Give the Ignite cluster a name"
            )
        if settings.provenance_headers and settings.header_converter == BYTES:
            raise settings.wrong(
                "header_converter", "bytes writes no texts and numbers, as provenance_headers are", "Use simple"
            )
