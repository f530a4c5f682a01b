"""Splitting of header texts into tokens, as ``Values.Parser`` of Kafka Connect does.

Backslashes are kept. Source: org.apache.kafka.connect.data.Values (4.3.1).
"""

from __future__ import annotations

_DELIMITERS = frozenset(':,{}[]"')
BLANKS = "".join(map(chr, range(33)))
"""Characters that Java's ``String.trim`` removes."""


class Tokens:
    """Tokens of a text, with a current position: delimiters, and the texts between them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = 0
        self._next: str | None = None
        self.previous: str | None = None

    @property
    def mark(self) -> int:
        """Current position, to return to by :meth:`rewind`."""
        return self._at - len(self._next or "")

    def rewind(self, mark: int) -> None:
        """Return to a position of :attr:`mark`."""
        self._at = mark
        self._next = None
        self.previous = None

    @property
    def left(self) -> bool:
        """Whether there is another token."""
        return self._next is not None or self._at < len(self.text)

    def next(self) -> str:
        """Return the next token, and move past it."""
        self.previous, self._next = (self._next, None) if self._next is not None else (self._consume(), None)
        assert self.previous is not None
        return self.previous

    def next_four(self) -> str | None:
        """Return the next four tokens as one text; None, without moving, if there are fewer."""
        start = self.mark
        for _ in range(4):
            if not self.left:
                self.rewind(start)
                return None
            self.next()
        return self.text[start : self._at]

    def skip(self, expected: str) -> bool:
        """Move past the next token if it is `expected` (blanks ignored); return whether it was."""
        if self._next is None:
            if not self.left:
                return False
            self._next = self._consume()
        while not self._next.strip(BLANKS) and self._at < len(self.text):
            self._next = self._consume()
        if self._next.strip(BLANKS) != expected:
            return False
        self._next = None
        return True

    def _consume(self) -> str:
        start = self._at
        escaped = False
        while self._at < len(self.text):
            letter = self.text[self._at]
            if letter in _DELIMITERS and not escaped:
                if start == self._at:
                    self._at += 1
                return self.text[start : self._at]
            escaped = letter == "\\" and not escaped
            self._at += 1
        return self.text[start:]
