r"""Rules for names: a regular expression of a whole name, and a replacement for the new name.

Expressions have Java's syntax (:mod:`~ignite_kafka.java.patterns`), replacements that of ``java.util.regex.Matcher``:
``$1`` and ``${name}`` are the texts of groups, ``\`` escapes the next character. The groups are those of the match of
the whole name, as in ``matches()`` followed by ``appendReplacement``. Source: ``Matcher.appendExpandedReplacement``,
Java 17.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ..java.patterns import compiled, groups_of, matches_whole

_GROUP_NAME = re.compile(r"\{([a-zA-Z][a-zA-Z0-9]*)\}")
_DIGITS = "0123456789"


@dataclass(frozen=True)
class NamedBy:
    """A new topic or cache name, and the rule that produced it, for messages."""

    name: str
    rule: str


def new_name(name: str, setting: str, rules: Mapping[str, str]) -> NamedBy | None:
    """Return a topic's or cache's new name by the first rule that matches the whole old name; None without a match.

    :param setting: the setting that holds the rules.
    :raises ValueError: an expression cannot be used with a name of that length.
    """
    for pattern, replacement in rules.items():
        groups = groups_of(name, pattern) if matches_whole(name, pattern) else None  # whether it matches is remembered
        if groups is not None:
            parts = replacement_parts(pattern, replacement)
            return NamedBy(
                "".join((groups[part] or "") if isinstance(part, int) else part for part in parts),
                f"{setting} {pattern!r}",
            )
    return None


@lru_cache(maxsize=1024)
def replacement_parts(pattern: str, replacement: str) -> tuple[str | int, ...]:
    """Split a replacement into its texts and the numbers of the groups that it refers to.

    :raises ValueError: the expression cannot be used, or has no group that the replacement refers to.
    """
    expression = compiled(pattern)
    parts: list[str | int] = []
    at = 0
    while at < len(replacement):
        character = replacement[at]
        at = at + 1
        if character == "\\":
            if at == len(replacement):
                raise ValueError("it ends with a backslash, which escapes the next character")
            parts.append(replacement[at])
            at += 1
        elif character == "$":
            group, at = _parse_group(replacement, at, expression.group_numbers, expression.group_count)
            if group in expression.unclear:
                why = (
                    "it is in a lookahead, in a lookbehind or within a repeated part, or a repeated part of the "
                    "expression may be empty"
                )
                raise ValueError(f"group {group} is not supported: {why}")
            parts.append(group)
        else:
            parts.append(character)
    return tuple(parts)


def _parse_group(replacement: str, at: int, numbers: Mapping[str, int], count: int) -> tuple[int, int]:
    """Return the number of the group that a replacement refers to, and the position behind the reference.

    :param at: position behind the ``$``.
    :raises ValueError: the text is no reference, or the group does not exist.
    """
    named = _GROUP_NAME.match(replacement, at)
    if named:
        if named[1] not in numbers:
            raise ValueError(f"the expression has no group named {named[1]!r}")
        return numbers[named[1]], named.end()
    if replacement[at : at + 1] not in tuple(_DIGITS):
        raise ValueError("a $ is followed by neither a number nor {name}; \\$ is a dollar sign")
    group = int(replacement[at])
    at = at + 1
    if group > count:
        raise ValueError(f"it refers to group {group}, and the expression has {count or 'none'}")
    while replacement[at : at + 1] in tuple(_DIGITS) and group * 10 + int(replacement[at]) <= count:
        group = group * 10 + int(replacement[at])
        at = at + 1
    return group, at
