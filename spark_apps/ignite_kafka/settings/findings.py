"""Collects what is wrong with settings, so that one look finds all of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ..errors import IgniteKafkaError, NotAvailableYet, SettingsError


class Findings:
    """What checks have found so far.

    :param errors: what was found before, such as names that a file has and no setting.
    """

    def __init__(self, errors: Iterable[IgniteKafkaError] = ()) -> None:
        self.errors = list(errors)
        self._wrong = {str(error.where.get("setting")) for error in self.errors}

    @contextmanager
    def check(self, *names: str) -> Iterator[None]:
        """One check: what it raises is kept, and the next check is made.

        :param names: settings that it compares. Where one of them is wrong by itself, what this check finds only follows from that, and is
            not kept.
        """
        try:
            yield
        except (SettingsError, NotAvailableYet) as error:
            if error.findings:  # of a check that has checks of its own
                self.errors += error.findings
            elif not self._wrong.intersection(names):
                self.errors.append(error)
            self._wrong.add(str(error.where.get("setting")))

    def raise_all(self) -> None:
        """Raise what was found, if anything: one error as it is, several as one that holds them."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            numbered = " ".join(f"({number}) {error}" for number, error in enumerate(self.errors, 1))
            joined = SettingsError(f"{len(self.errors)} settings are wrong: {numbered}")
            joined.findings = tuple(self.errors)
            raise joined
