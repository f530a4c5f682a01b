"""Runs tests with other versions of Python, Airflow, PySpark, Ignite and Kafka than those of ``make test``.

:mod:`.sets` has the versions and the tests of each set, :mod:`.environments` makes a set's Python environment in
    ``.work/matrix``,
:mod:`.runs` runs its tests, :mod:`.page` writes the results into docs/compatibility.md.
"""
