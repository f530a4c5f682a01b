"""Regular expressions for names, matched in a bounded number of steps instead of by backtracking.

Python's matcher takes exponential time for expressions such as ``(a+)+b`` and holds the interpreter's lock meanwhile:
one expression of a sensor would stop every trigger of its process. This matcher visits each pair of a step of the
expression and a position in the name once. Parsing, character classes and anchors are Python's, so expressions
have the same meaning. Expressions that cannot be matched this way are refused: back references, possessive
quantifiers, atomic groups and conditions on groups.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .python_compat import regex_compiler, regex_constants, regex_parser

MAX_LENGTH = 2_000
MAX_STEPS = 5_000
MAX_VISITS = 1_000_000  # about a second
_ONE_CHARACTER = {regex_constants.LITERAL, regex_constants.NOT_LITERAL, regex_constants.ANY, regex_constants.IN}
_REPEATS = {regex_constants.MAX_REPEAT, regex_constants.MIN_REPEAT}
# Java loops over a part that is repeated at most once by a count, but not by a question mark
_COUNTED = re.compile(r"\{[01](?:,1)?\}")
# in (?:(a))* the group itself is not repeated, but the parser's result is the same as for (a)*
_WRAPPED = re.compile(r"\(\?:(?:\s|#.*\n)*\(")
_LOOKS = {regex_constants.ASSERT, regex_constants.ASSERT_NOT}
_REFUSED = {
    regex_constants.GROUPREF: "a back reference",
    regex_constants.GROUPREF_IGNORE: "a back reference",
    regex_constants.GROUPREF_EXISTS: "a condition on a group",
}
if sys.version_info >= (3, 11):  # Python 3.10 cannot parse them
    _REFUSED |= {
        regex_constants.ATOMIC_GROUP: "an atomic group",
        regex_constants.POSSESSIVE_REPEAT: "a possessive quantifier",
    }


@dataclass
class _Match:
    """State of matching one text against an expression.

    :param looks: results of lookaheads and lookbehinds, by number of the assertion and position.
    """

    text: str
    looks: dict[tuple[int, int], bool] = field(default_factory=dict)
    visits: int = 0

    def visit(self) -> None:
        self.visits += 1
        if self.visits > MAX_VISITS:
            raise ValueError(
                f"matching it takes more than {MAX_VISITS} steps with a name of {len(self.text)} characters"
            )


_Test = Callable[[_Match, int], object]


@dataclass
class _Step:
    """A state of the automaton that an expression is compiled to.

    :param test: test of a character or a position; None: the step consumes nothing.
    :param width: number of characters that the test consumes.
    :param follow: numbers of the following steps, in the order of a backtracking matcher.
    :param mark: twice a group's number where the group begins, one more where it ends; None: neither.
    """

    test: _Test | None = None
    width: int = 0
    follow: list[int] = field(default_factory=list)
    mark: int | None = None


class LinearPattern:
    """A compiled regular expression that takes a bounded number of steps to match.

    ``group_count`` is the number of its groups, ``group_numbers`` the number of each named group, and ``unclear`` the
    groups whose text :meth:`groups` does not find as Java does: groups in lookaheads and lookbehinds, groups within a
    repeated part (a group that is repeated itself is found), and all groups if a repeated part may be empty.

    :raises re.error: the text is no regular expression.
    :raises ValueError: the expression is too large, or has a refused part.
    """

    def __init__(self, expression: str, flags: int = 0) -> None:
        if len(expression) > MAX_LENGTH:
            raise ValueError(f"it has more than {MAX_LENGTH} characters")
        try:
            re.compile(expression, flags)  # refuses some expressions that the parser accepts
            parsed = regex_parser.parse(expression, flags)
            self._steps = [_Step()]  # the first step is the end of a match
            self._tests: dict[tuple[str, int], _Test] = {}
            self.group_count = parsed.state.groups - 1
            self.group_numbers = dict(parsed.state.groupdict)
            self.unclear: set[int] = set()
            self._compiled: set[int] = set()  # groups of the part that is being compiled
            self._repeats = 0  # number of repeats around this part
            self._counted = _COUNTED.search(expression) is not None
            self._wrapped = _WRAPPED.search(expression) is not None
            self._entry = self._sequence(parsed, 0, parsed.state.flags)
        except RecursionError:
            raise ValueError("its groups are nested too deeply") from None

    def fullmatch(self, text: str) -> bool:
        """Return whether the whole text matches.

        :raises ValueError: matching the text takes too many steps.
        """
        return len(text) in self._ends(_Match(text), self._entry, 0)

    def groups(self, text: str) -> list[str | None] | None:
        """Return the texts of all groups, that of the whole match first; None without a match.

        The search is depth first, in the order of a backtracking matcher, but tries no failed pair of step and position
        again.

        :raises ValueError: matching the text takes too many steps.
        """
        match = _Match(text)
        start = (self._entry, 0)
        before: dict[tuple[int, int], tuple[int, int]] = {}
        waiting = [(start, start)]
        while waiting:
            state, previous = waiting.pop()
            if state in before:
                continue
            match.visit()
            before[state] = previous
            number, position = state
            if number == 0 and position == len(text):
                return self._group_texts(text, state, before)
            if number and (position := self._step_end(match, number, position)) >= 0:
                waiting.extend(((following, position), state) for following in reversed(self._steps[number].follow))
        return None

    def _group_texts(
        self, text: str, state: tuple[int, int], before: dict[tuple[int, int], tuple[int, int]]
    ) -> list[str | None]:
        """Return the groups' texts, from the last marks on the path that led to the state."""
        marks: dict[int, int] = {}
        while before[state] != state:
            state = before[state]
            mark = self._steps[state[0]].mark
            if mark is not None:
                marks.setdefault(mark, state[1])
        groups: list[str | None] = [text]
        for group in range(2, 2 * self.group_count + 2, 2):
            groups.append(text[marks[group] : marks[group + 1]] if group in marks else None)
        return groups

    def _step_end(self, match: _Match, number: int, position: int) -> int:
        """Return the position behind a step that matches; -1 if it does not match."""
        step = self._steps[number]
        matches = step.test is None or (position + step.width <= len(match.text) and step.test(match, position))
        return position + step.width if matches else -1

    def _ends(self, match: _Match, entry: int, start: int) -> set[int]:
        """Return all positions at which a match from `start` may end."""
        seen = {(entry, start)}
        waiting = [(entry, start)]
        ends = set()
        while waiting:
            match.visit()
            number, position = waiting.pop()
            if number == 0:
                ends.add(position)
                continue
            if (position := self._step_end(match, number, position)) >= 0:
                behind = {(following, position) for following in self._steps[number].follow} - seen
                seen |= behind
                waiting.extend(behind)
        return ends

    def _add(self, test: _Test | None, width: int, follow: list[int], mark: int | None = None) -> int:
        if len(self._steps) >= MAX_STEPS:
            raise ValueError(f"with its repeats written out it has more than {MAX_STEPS} parts")
        self._steps.append(_Step(test, width, follow, mark))
        return len(self._steps) - 1

    def _sequence(self, items: Iterable[Any], behind: int, flags: int) -> int:
        """Compile a sequence of items in front of the step ``behind``; return the first step."""
        for operation, argument in reversed(list(items)):
            behind = self._item(operation, argument, behind, flags)
        return behind

    def _item(self, operation: Any, argument: Any, behind: int, flags: int) -> int:
        if operation in _ONE_CHARACTER or operation is regex_constants.AT:
            return self._add(self._python_test(operation, argument, flags), int(operation in _ONE_CHARACTER), [behind])
        if operation is regex_constants.SUBPATTERN:
            group, added, removed, items = argument
            return self._group(group, items, behind, regex_compiler._combine_flags(flags, added, removed))
        if operation is regex_constants.BRANCH:
            return self._add(None, 0, [self._sequence(items, behind, flags) for items in argument[1]])
        if operation in _REPEATS:
            least, most, items = argument
            if items.getwidth()[0] == 0 and most > 1:
                # the number of its empty matches decides the texts of the other groups
                self.unclear.update(range(1, self.group_count + 1))
            # when Java goes back from an iteration, it restores the group that is repeated, but not the groups within
            # it
            loops = most > 1 or self._counted
            nested = self._repeats > 0
            with (
                self._unclear_groups(nested or loops, set() if nested or self._wrapped else _repeated_group(items)),
                self._inside_repeat(),
            ):
                return self._repeat(least, most, items, behind, flags, lazy=operation is regex_constants.MIN_REPEAT)
        if operation is regex_constants.FAILURE:  # (?!) since Python 3.13
            return self._add(lambda _match, _position: False, 0, [behind])
        if operation in _LOOKS:
            direction, items = argument
            with self._unclear_groups():
                return self._add(
                    self._lookaround(operation is regex_constants.ASSERT, direction, items, flags), 0, [behind]
                )
        raise ValueError(f"it has {_REFUSED.get(operation, f'a part {operation}')}, which is not supported")

    @contextmanager
    def _unclear_groups(self, unclear: bool = True, but: Set[int] = frozenset()) -> Iterator[None]:
        """Return a context in which compiled groups are marked as unclear, except the groups in ``but``."""
        before = self._compiled
        self._compiled = set()
        yield
        self.unclear |= self._compiled - but if unclear else set()
        self._compiled |= before

    @contextmanager
    def _inside_repeat(self) -> Iterator[None]:
        self._repeats += 1
        yield
        self._repeats -= 1

    def _group(self, number: int | None, items: Any, behind: int, flags: int) -> int:
        if number is None:
            return self._sequence(items, behind, flags)
        self._compiled.add(number)
        end = self._add(None, 0, [behind], 2 * number + 1)
        return self._add(None, 0, [self._sequence(items, end, flags)], 2 * number)

    def _repeat(self, least: int, most: Any, items: Any, behind: int, flags: int, *, lazy: bool) -> int:
        order = slice(None, None, -1 if lazy else 1)
        if most is regex_constants.MAXREPEAT:
            loop = self._add(None, 0, [])
            self._steps[loop].follow = [self._sequence(items, loop, flags), behind][order]
            behind = loop
        else:
            end = behind
            for _ in range(most - least):
                behind = self._add(None, 0, [self._sequence(items, behind, flags), end][order])
        for _ in range(least):
            behind = self._sequence(items, behind, flags)
        return behind

    def _lookaround(self, expected: bool, direction: int, items: Any, flags: int) -> _Test:
        """Return the test for a lookahead or lookbehind."""
        entry = self._sequence(items, 0, flags)
        width = items.getwidth()[0] if direction < 0 else 0
        number = len(self._steps)

        def test(match: _Match, position: int) -> bool:
            if (number, position) not in match.looks:
                ends = self._ends(match, entry, position - width) if position >= width else set()
                match.looks[number, position] = (position in ends if direction < 0 else bool(ends)) is expected
            return match.looks[number, position]

        return test

    def _python_test(self, operation: Any, argument: Any, flags: int) -> _Test:
        """Return the test, made by Python's re, for one character or for a position such as ^."""
        key = f"{operation} {argument}", flags
        if key not in self._tests:
            state = regex_parser.State()
            state.flags = flags
            compiled: re.Pattern[str] = regex_compiler.compile(
                regex_parser.SubPattern(state, [(operation, argument)]), flags
            )
            self._tests[key] = lambda match, position: compiled.match(match.text, position)
        return self._tests[key]


def _repeated_group(items: Any) -> Set[int]:
    """Return the number of the group that forms a whole repeated item, as a set; an empty set without such a group."""
    if len(items) != 1:  # none: Python 3.10 has no item for an empty group
        return set()
    ((operation, argument),) = items
    return {argument[0]} if operation is regex_constants.SUBPATTERN else set()
