"""Tables of plain text."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Format columns under their heads, two blanks apart; align numbers to the right, with thousands separators."""
    cells = [
        [f"{cell:,}" if isinstance(cell, int) else "" if cell is None else printable(str(cell)) for cell in row]
        for row in rows
    ]
    right = [bool(rows) and all(isinstance(row[column], (int, float)) for row in rows) for column in range(len(head))]
    widths = [max(len(row[column]) for row in [list(head), *cells]) for column in range(len(head))]

    def line(row: Sequence[str]) -> str:
        aligned = (
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, right, strict=True)
        )
        return "  ".join(aligned).rstrip()

    return "\n".join([line(head), "  ".join("-" * width for width in widths), *(line(row) for row in cells)])


def printable(text: str) -> str:
    """Return a text on one line: ends of lines and what a terminal would obey, such as escape sequences, are blanks."""
    return "".join(character if character.isprintable() else " " for character in text)
