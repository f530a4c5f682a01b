"""Collection of the errors of all checks of settings and transforms, so that they are reported together.

No error shows a value of a config provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from ..common.redaction import hidden_values, mask_hidden_values
from ..errors import IgniteKafkaError, NotAvailableYet, SettingsError

PROVIDED = ", by a config provider"
"""End of the origin of a value from a config provider; such a value is never shown."""


def concealed(error: IgniteKafkaError) -> IgniteKafkaError:
    """Return an error in which no value from a config provider is shown.

    An error about such a value becomes one with only the place of the value, because its reason may show parts of the
    value. In other errors known values are hidden.
    """
    if error.findings:
        return _joined([concealed(finding) for finding in error.findings])
    # the name of a setting may be a value, too: transforms names the aliases of which names are made
    where = {
        name: mask_hidden_values(value) if isinstance(value, str) else value for name, value in error.where.items()
    }
    if str(where.get("set_in", "")).endswith(PROVIDED) and "no such setting" not in error.what:
        return SettingsError(
            "the value that a config provider gave is wrong",
            setting=where.get("setting"), allowed=where.get("allowed"), set_in=where["set_in"],
        )  # fmt: skip
    if not hidden_values():
        return error
    # without the cause, which has the value
    return type(error)(mask_hidden_values(error.what), mask_hidden_values(error.remedy), **where)


UNFORESEEN = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError)
"""Errors of values with a type or depth that no check foresees; they must not stop the connectors of all others."""


class Findings:
    """Collector of the errors of several checks.

    :param errors: errors of earlier checks, such as unknown names in a file.
    """

    def __init__(self, errors: Iterable[IgniteKafkaError] = ()) -> None:
        self.errors = [concealed(error) for error in errors]
        self._wrong = {str(error.where.get("setting")) for error in self.errors}

    @contextmanager
    def check(self, *names: str) -> Iterator[None]:
        """Run one check as a context, and collect its error instead of raising it.

        :param names: settings compared by the check. If one of them is already wrong, the error is a consequence and is
            dropped.
        """
        try:
            yield
        except (SettingsError, NotAvailableYet) as error:
            if error.findings:  # a check that runs several checks
                self.errors += map(concealed, error.findings)
            elif not self._wrong.intersection(names):
                self.errors.append(concealed(error))
            self._wrong.add(str(error.where.get("setting")))

    def raise_all(self) -> None:
        """Raise the collected errors: a single error unchanged, several as one error that contains them."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise _joined(self.errors)


def _joined(errors: Sequence[IgniteKafkaError]) -> SettingsError:
    numbered = " ".join(f"({number}) {error}" for number, error in enumerate(errors, 1))
    joined = SettingsError(f"{len(errors)} settings are wrong: {numbered}")
    joined.findings = tuple(errors)
    return joined
