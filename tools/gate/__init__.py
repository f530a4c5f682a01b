"""Runs the tests in steps, shows how far they are, tries failed tests of real servers once more, and reports.

``python -m tools.gate`` is behind ``make test`` and ``make test-quick``. :mod:`.recorder` is a pytest plugin that
writes events,
:mod:`.results` reads them, :mod:`.steps` are the commands, :mod:`.runner` runs them, and :mod:`.report` is the last
    screen.
"""
