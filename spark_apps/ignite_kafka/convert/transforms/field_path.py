"""Parser of paths to nested fields, in the syntax of ``field.syntax.version`` V2.

Source: org.apache.kafka.connect.transforms.field.SingleFieldPath (4.3.1).
"""

from __future__ import annotations


def path_of(text: str) -> tuple[str, ...]:
    r"""Split a path into the names of its fields, which are separated by dots.

    A name between backticks may have dots, and a backtick as ``\```.

    :raises ValueError: the closing backtick is missing.
    """
    steps: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == "`":
            step, at = _read_quoted(text, at)
        else:
            end = text.find(".", at)
            step, at = (text[at:], len(text)) if end < 0 else (text[at:end], end + 1)
        steps.append(step)
    return (*steps, "") if text.endswith(".") else tuple(steps)


def _read_quoted(text: str, opened: int) -> tuple[str, int]:
    """Return the name behind an opening backtick, and the position where the path continues."""
    name = ""
    start = opened + 1
    at = opened + 1
    while True:
        at = text.find("`", at)
        escaped = at > 0 and text[at - 1] == "\\"
        if at < 0 or (at == len(text) - 1 and escaped):
            raise ValueError(f"the backtick at position {opened} has no other; \\` is a backtick in a name")
        if at == len(text) - 1:
            return name + text[start:at], at + 1
        if text[at + 1] == "." and not escaped:
            return name + text[start:at], at + 2
        if text[at + 1] == ".":
            name = f"{name}{text[start : at - 1]}`"
            start = at + 1
        at += 1
