"""Collection of errors about settings, so that one check reports all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ..errors import IgniteKafkaError, NotAvailableYet, SettingsError


class Findings:
    """Errors found so far.

    :param errors: errors found before, such as unknown names in a file.
    """

    def __init__(self, errors: Iterable[IgniteKafkaError] = ()) -> None:
        self.errors = list(errors)
        self._wrong = {str(error.where.get("setting")) for error in self.errors}

    @contextmanager
    def check(self, *names: str) -> Iterator[None]:
        """Run one check and keep its error.

        :param names: settings that it compares. If one of them is wrong already, the error follows from that and is dropped.
        """
        try:
            yield
        except (SettingsError, NotAvailableYet) as error:
            if error.findings:  # a check that runs several checks
                self.errors += error.findings
            elif not self._wrong.intersection(names):
                self.errors.append(error)
            self._wrong.add(str(error.where.get("setting")))

    def raise_all(self) -> None:
        """Raise the errors found: a single one unchanged, several as one error that holds them."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            numbered = " ".join(f"({number}) {error}" for number, error in enumerate(self.errors, 1))
            joined = SettingsError(f"{len(self.errors)} settings are wrong: {numbered}")
            joined.findings = tuple(self.errors)
            raise joined
