"""Parser of Spark SQL conditions and column lists, limited to the syntax whose results equal Spark's.

Proved means: tests/integration/convert/filter/test_against_spark.py compares the results with Spark's on the same rows.
Everything else is refused.
"""

from __future__ import annotations

from . import literals
from .syntax import (
    CAST_TARGETS,
    FUNCTIONS,
    And,
    Arithmetic,
    Call,
    Cast,
    Column,
    Compare,
    Condition,
    In,
    IsNull,
    Kind,
    Like,
    Literal,
    Negative,
    Not,
    Or,
    SelectedField,
)
from .tokens import Refused, Token, tokens

_MOST_DEPTH = 40  # nine Python calls a level; each operator of a chain is a level of the tree
_MOST_OPERATORS = 100
_MOST_TOKENS = 10_000
_COMPARISONS = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
_KEYWORDS = {
    "AND", "OR", "NOT", "IS", "NULL", "IN", "BETWEEN", "LIKE", "ESCAPE", "TRUE", "FALSE", "DATE", "TIMESTAMP", "RLIKE",
    "REGEXP", "ILIKE",
    "CASE", "WHEN", "THEN", "ELSE", "END", "CAST", "EXISTS", "SELECT", "FROM", "WHERE", "INTERVAL", "DISTINCT", "DIV",
    "AS", "ANY", "ALL",
    "SOME", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "CURRENT_DATE", "CURRENT_TIMESTAMP",
}  # fmt: skip
_TYPED = ("DATE", "TIMESTAMP")


def parse_condition(text: str) -> Condition:
    """Parse a condition in Spark SQL to its syntax tree.

    :raises Refused: the text is no condition, or has a part whose result is not proved equal to Spark's.
    """
    parser = _Parser(text)
    condition = parser.parse_or()
    parser.end()
    if isinstance(condition, Literal) and condition.kind not in (Kind.BOOLEAN, Kind.NULL):
        raise Refused("the text is a constant and no condition", 0, "Write a comparison")
    return condition


def parse_columns(text: str) -> tuple[SelectedField, ...]:
    """Parse a comma-separated list of columns, each possibly renamed by ``AS``.

    :raises Refused: it contains something other than names, or two columns whose names are equal without case.
    """
    parser = _Parser(text)
    fields = [parser.parse_field()]
    while parser.take(","):
        fields.append(parser.parse_field())
    parser.end()
    names: set[str] = set()
    for field in fields:
        if field.alias.lower() in names:
            raise Refused(
                f"two columns are named {field.alias}, without case",
                None,
                "Name it once, or give one another name: a AS b",
            )
        names.add(field.alias.lower())
    return tuple(fields)


def _balanced_tree(make: type[And] | type[Or], items: list[Condition]) -> Condition:
    """Join conditions by AND or OR in a balanced tree, so that a long chain is not nested deeply."""
    if len(items) == 1:
        return items[0]
    middle = (len(items) + 1) // 2
    return make(_balanced_tree(make, items[:middle]), _balanced_tree(make, items[middle:]))


def _repeat_prefix(make: type[Not] | type[Negative], count: int, operand: Condition) -> Condition:
    """Apply NOT or minus as often as it was written, but never more than twice.

    A pair changes no value but restricts the operand's types, so one pair stands for all pairs.
    """
    for _ in range(count % 2 or min(count, 2)):
        operand = make(operand)
    return operand


class _Parser:
    """Parser of one text, with a method for each level of operator precedence."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._at = 0
        self._depth = 0
        self._operators = 0
        if len(self._tokens) > _MOST_TOKENS:
            raise Refused(
                f"the text has more than {_MOST_TOKENS} words",
                None,
                "Write a shorter one, or name a function by setting filter",
            )

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _advance(self) -> Token:
        token = self._next
        self._at += 1
        return token

    def take(self, operator: str) -> bool:
        """Consume the operator if it is the next token; return whether it was."""
        if self._next.kind == "operator" and self._next.text == operator:
            self._at += 1
            return True
        return False

    def _take_keywords(self, *words: str) -> bool:
        """Consume the keywords if they are the next tokens; return whether they were."""
        ahead = self._tokens[self._at : self._at + len(words)]
        if [token.word for token in ahead] == list(words):
            self._at += len(words)
            return True
        return False

    def end(self) -> None:
        """Raise Refused if a token is left."""
        token = self._next
        if token.kind != "end":
            if token.kind == "operator" and token.text == ")":
                raise Refused("this ) closes no parenthesis", token.position, "Leave it out, or open the parenthesis")
            what = f"operator {token.text}" if token.kind == "operator" else f"{token.text}"
            raise Refused(f"{what} is not supported here", token.position)

    def parse_or(self) -> Condition:
        """Parse conditions joined by OR."""
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise Refused(f"the condition is nested deeper than {_MOST_DEPTH} levels", self._next.position)
        items = [self._parse_and()]
        while self._take_keywords("OR"):
            items.append(self._parse_and())
        self._depth -= 1
        return _balanced_tree(Or, items)

    def _parse_and(self) -> Condition:
        items = [self._parse_not()]
        while self._take_keywords("AND"):
            items.append(self._parse_not())
        return _balanced_tree(And, items)

    def _parse_not(self) -> Condition:
        count = 0
        while self._take_keywords("NOT"):
            count += 1
        return _repeat_prefix(Not, count, self._parse_predicate())

    def _parse_predicate(self) -> Condition:
        operand = self._parse_comparison()
        if self._take_keywords("IS", "NULL"):
            return IsNull(operand)
        if self._take_keywords("IS", "NOT", "NULL"):
            return Not(IsNull(operand))
        opposite = self._next.word == "NOT"
        at = self._at
        self._at = self._at + opposite
        for word, read in (("IN", self._parse_in), ("BETWEEN", self._parse_between), ("LIKE", self._parse_like)):
            if self._take_keywords(word):
                predicate = read(operand)
                return Not(predicate) if opposite else predicate
        self._at = at
        return operand

    def _parse_comparison(self) -> Condition:
        left = self._parse_additive()
        operator = self._take_one_of(*_COMPARISONS)
        if not operator:
            return left
        comparison = Compare(_COMPARISONS[operator], left, self._parse_additive())
        behind = self._next
        if self._take_one_of(*_COMPARISONS):
            raise Refused(
                "two comparisons follow one another", behind.position, "Put parentheses around one, or AND between"
            )
        return comparison

    def _parse_in(self, operand: Condition) -> Condition:
        opening = self._next
        if not self.take("("):
            raise Refused("IN needs a list in parentheses", opening.position, "Write it as x IN (1, 2)")
        items = [self._parse_literal()]
        while self.take(","):
            items.append(self._parse_literal())
        self._take_closing()
        kinds = {item.kind for item in items} - {Kind.NULL}
        if len(kinds) > 1:
            shown = ", ".join(sorted(kind.value for kind in kinds))
            raise Refused(
                f"the list of IN has values of several types ({shown})", opening.position, "Write all of one type"
            )
        return In(operand, tuple(items))

    def _parse_between(self, operand: Condition) -> Condition:
        low = self._parse_additive()
        if not self._take_keywords("AND"):
            raise Refused("BETWEEN has no AND", self._next.position, "Write it as x BETWEEN 1 AND 2")
        return And(Compare(">=", operand, low), Compare("<=", operand, self._parse_additive()))

    def _parse_like(self, operand: Condition) -> Condition:
        pattern = self._advance()
        escape = "\\"
        if pattern.kind != "string":
            raise Refused("the pattern of LIKE is no text", pattern.position)
        if self._take_keywords("ESCAPE"):
            token = self._advance()
            if token.kind != "string" or len(token.text) != 1 or token.text in "%_":
                raise Refused(
                    "ESCAPE needs a text of one character other than % and _", token.position, "Write it as ESCAPE '/'"
                )
            escape = token.text
        return Like(operand, literals.like_parts(pattern.text, escape, pattern.position))

    def _parse_additive(self) -> Condition:
        """Parse operands joined by ``+``, ``-`` or ``||``."""
        left = self._parse_multiplicative()
        while operator := self._take_one_of("+", "-", "||"):
            right = self._parse_multiplicative()
            left = Call("concat", (left, right)) if operator == "||" else Arithmetic(operator, left, right)
            self._count_operator()
        return left

    def _parse_multiplicative(self) -> Condition:
        left = self._parse_signed()
        while operator := self._take_one_of("*", "/", "%"):
            left = Arithmetic(operator, left, self._parse_signed())
            self._count_operator()
        return left

    def _count_operator(self) -> None:
        self._operators += 1
        if self._operators > _MOST_OPERATORS:
            raise Refused(f"there are more than {_MOST_OPERATORS} operators of arithmetic", self._next.position)

    def _parse_signed(self) -> Condition:
        signs = 0
        while (
            self._next.text in ("+", "-")
            and self._next.kind == "operator"
            and self._tokens[self._at + 1].kind != "number"
        ):
            signs += self._advance().text == "-"
        return _repeat_prefix(Negative, signs, self._parse_operand())

    def _take_one_of(self, *operators: str) -> str:
        """Consume the next token if it is one of the operators; return it, or an empty text."""
        return next((operator for operator in operators if self.take(operator)), "")

    def _parse_operand(self) -> Condition:
        """Parse a column, a constant, a function, or a condition in parentheses."""
        if self.take("("):
            inner = self.parse_or()
            self._take_closing()
            return inner
        token = self._next
        if (
            token.kind == "name"
            and self._tokens[self._at + 1].text == "("
            and self._tokens[self._at + 1].kind == "operator"
        ):
            if token.word in ("CAST", "TRY_CAST"):
                return self._parse_cast()
            if token.word not in _KEYWORDS:
                return self._parse_call()
        if token.kind == "quoted" or (token.kind == "name" and not self._is_literal() and token.word not in _KEYWORDS):
            return self._parse_column()
        return self._parse_literal()

    def _parse_cast(self) -> Cast:
        tries = self._advance().word == "TRY_CAST"
        self.take("(")
        operand = self.parse_or()
        if not self._take_keywords("AS"):
            raise Refused(_expected_text("AS", self._next), self._next.position, "Write it as CAST(a AS INT)")
        token = self._advance()
        target = CAST_TARGETS.get(token.word)
        if target is None:
            supported = ", ".join(dict.fromkeys(CAST_TARGETS.values()))
            raise Refused(
                f"CAST to {token.text or 'the end'} is not supported", token.position, f"Supported are {supported}"
            )
        self._take_closing()
        return Cast(operand, target, tries)

    def _parse_call(self) -> Call:
        token = self._advance()
        name = token.text.lower()
        function = next((names for names in FUNCTIONS if name in names), None)
        if function is None:
            raise Refused(f"function {token.text} is not supported", token.position)
        self.take("(")
        arguments = [] if self.take(")") else [self.parse_or()]
        while arguments and self.take(","):
            arguments.append(self.parse_or())
        if arguments:
            self._take_closing()
        least, most = FUNCTIONS[function]
        if not least <= len(arguments) <= most:
            raise Refused(
                f"function {token.text} has {len(arguments)} arguments",
                token.position,
                f"Give it {least} or, at most, {most}",
            )
        return Call(function[0], tuple(arguments))

    def _take_closing(self) -> None:
        if not self.take(")"):
            raise Refused(_expected_text(")", self._next), self._next.position, "Close the parenthesis")

    def _is_literal(self) -> bool:
        token = self._next
        return token.word in ("TRUE", "FALSE", "NULL") or (
            token.word in _TYPED and self._tokens[self._at + 1].kind == "string"
        )

    def _parse_column(self) -> Column:
        path = [self._advance()]
        while self.take("."):
            if self._next.kind not in ("name", "quoted"):
                raise Refused(
                    _expected_text("a name", self._next), self._next.position, "Name the field behind the point"
                )
            path.append(self._advance())
        if self._next.kind == "operator" and self._next.text in ("(", "["):
            what = f"function {path[-1].text}" if self._next.text == "(" else f"an element of {path[-1].text}"
            raise Refused(f"{what} is not supported", path[0].position)
        return Column(tuple(token.text for token in path))

    def parse_field(self) -> SelectedField:
        """Parse a column with or without AS; raise Refused for anything else."""
        name = self._parse_name()
        alias = self._parse_name() if self._take_keywords("AS") else name
        if self._next.kind in ("name", "quoted"):
            raise Refused(
                f"{self._next.text} follows column {alias.text}", self._next.position, "Write a comma, or AS, between"
            )
        if self._next.kind == "operator" and self._next.text != ",":
            raise Refused(
                f"{self._next.text} behind column {alias.text} is not supported",
                name.position,
                "Name whole columns alone",
            )
        return SelectedField(name.text, alias.text)

    def _parse_name(self) -> Token:
        token = self._advance()
        if token.kind != "quoted" and (token.kind != "name" or token.word in _KEYWORDS):
            raise Refused(_expected_text("a column's name", token), token.position, "Name columns, with commas between")
        if not token.text:
            raise Refused("a column's name is empty", token.position, "Name columns, with commas between")
        return token

    def _parse_literal(self) -> Literal:
        token = self._advance()
        if token.kind == "operator" and token.text in "+-" and self._next.kind == "number":
            return literals.number(self._next.text, self._advance().position, negative=token.text == "-")
        if token.kind == "number":
            return literals.number(token.text, token.position)
        if token.kind == "string":
            if self._next.kind == "string":
                raise Refused("two texts follow one another", self._next.position, "Write one text")
            return Literal(Kind.STRING, token.text)
        if token.word in _TYPED and self._next.kind == "string":
            read = literals.day if token.word == "DATE" else literals.moment
            return read(self._advance().text, token.position)
        if token.word in ("TRUE", "FALSE"):
            return Literal(Kind.BOOLEAN, token.word == "TRUE")
        if token.word == "NULL":
            return Literal(Kind.NULL, None)
        if token.word in _KEYWORDS:
            raise Refused(f"{token.word} is not supported here", token.position)
        raise Refused(
            _expected_text("a column or a constant", token), token.position, "Write one, or leave out what is before"
        )


def _expected_text(what: str, token: Token) -> str:
    return f"{what} is expected, and {token.text or 'the end'} was found"
