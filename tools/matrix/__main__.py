"""Run tests with other versions: ``python -m tools.matrix [--write] [SET ...]``.

Without names all sets run, which takes hours; a name that ends with ``-`` stands for all sets that begin with it, such
as ``ignite-``. ``--write`` writes each set's row into docs/compatibility.md when the set is done. ``--lock`` writes
``requirements/matrix-oldest.txt``, from which the set ``oldest`` is installed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable, Sequence

from . import page
from .runs import run
from .sets import SETS, VersionSet


def main(arguments: Sequence[str]) -> int:
    """Run the command; 1 if a test failed or a set could not be installed."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.matrix", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"one or more of {', '.join(SETS)}; default: all")
    parser.add_argument("--lock", action="store_true", help="write the lock of the repository instead")
    parser.add_argument("--write", action="store_true", help="write the results into docs/compatibility.md")
    options = parser.parse_args(arguments)
    if options.lock:
        oldest = SETS["oldest"]
        assert oldest.environment is not None
        oldest.environment.resolve(oldest.lock)
        return 0
    try:
        sets = chosen(options.sets)
    except KeyError as unknown:
        parser.error(f"unknown: {unknown.args[0]}; known are {', '.join(SETS)}")
    summaries = [_run(one, options.write) for one in sets]
    print(*(summary for _, summary in summaries), sep="\n")
    return 0 if all(good for good, _ in summaries) else 1


def chosen(names: Iterable[str]) -> list[VersionSet]:
    """Return the sets of names and of beginnings of names, in the order of :data:`SETS`; all sets without names.

    :raises KeyError: no set has the name or begins with it.
    """
    found: set[str] = set()
    for name in names:
        matching = {known for known in SETS if known == name or (name.endswith("-") and known.startswith(name))}
        if not matching:
            raise KeyError(name)
        found |= matching
    return [one for name, one in SETS.items() if name in found or not found]


def _run(one: VersionSet, write: bool) -> tuple[bool, str]:
    try:
        results = run(one)
    except subprocess.CalledProcessError as error:
        return False, f"{one.name}: not installed, {error}"
    if write:
        page.write(one.name, page.row(one, results))
    counts = "; ".join(f"{name}: {counts}" for name, counts in results.items())
    return all(counts.good for counts in results.values()), f"{one.name}: {counts}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
