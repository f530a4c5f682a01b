"""Names by rules are those that Java's own matcher makes."""

from __future__ import annotations

import base64
import itertools
import subprocess
from pathlib import Path

from ignite_kafka.java.patterns import compiled
from ignite_kafka.settings.name_rules import new_name, replacement_parts
from tests.support.randomness import examples, generator

JAVA = Path(__file__).parents[2] / "java" / "NameReplacer.java"

PATTERNS = [
    r"(.*)", r"(.*)-(.*)", r"(.*?)-(.*)", r"(a|ab)(c|bcd)?(d*)", r"(?<first>[^-]+)-(?<second>.+)", r"(?:a|b)*(-)?(.*)", r"(a)?b?.*",
    r"((..)*(.[ab]))(.*)", r"(a(-)?)(b(-(.))?)?.*", r"(a{1,2}){1,2}.*", r"((a)(b))(.*)", r"([a-c]+?)(b*)(.*)",
    r"(a|b)(a|b)(a|b)?(a|b)?(-)?(a)?(b)?(a)?(b)?(a)?(b)?(.*)",
    r"(\w+?)_(?i:(X))", r"(?=a)(.+)", r"(.+)(?<!b)", r"", r"x(y)?", r"(a+|a+b)(b?)(b?)",
]  # fmt: skip
REPLACEMENTS = [
    "$0", "$1", "t.$1", "${first}", r"\$1", r"\\$1", "$12", "$1$2", "$3-$2-$1", "", "x", "$", "a$", "\\", "${first", "$x", "$9",
    "${1}", "$10x",
]  # fmt: skip
REPEATS = ["?", "*", "+", "*?", "{1,2}", "{0,1}"]
NAMES = [
    "a-b",
    "ab",
    "abcd",
    "abab",
    "a-b-c",
    "b",
    "aaa",
    "aab",
    "aba-",
    "a_X",
    "a_x",
    "",
    "x",
    "xy",
    "ba",
    "abbb",
    "a-a-",
    "ababababababab",
]


def java(triples: list[tuple[str, str, str]]) -> list[str]:
    lines = "\n".join(" ".join(base64.b64encode(text.encode()).decode() or "=" for text in triple) for triple in triples)
    done = subprocess.run(["java", "-Xshare:auto", str(JAVA)], input=lines, capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[: len(triples)]


def ours(pattern: str, replacement: str, name: str) -> str:
    """What the Java program prints."""
    matched = new_name(name, "s", {pattern: "x"})
    if matched is None:
        return "-"
    try:
        replacement_parts(pattern, replacement)
    except ValueError:
        return "!"
    made = new_name(name, "s", {pattern: replacement})
    assert made is not None
    return "=" + base64.b64encode(made.name.encode()).decode()


def test_names_are_those_that_java_makes() -> None:
    triples = list(itertools.product(PATTERNS, REPLACEMENTS, NAMES))
    found = [(*triple, ours(*triple), made) for triple, made in zip(triples, java(triples), strict=True)]
    assert [one for one in found if one[3] != one[4]] == []


def test_groups_of_random_expressions_are_those_of_java() -> None:
    """Expressions of a seeded generator, with groups, choices, lazy and greedy repeats."""
    picks = generator(7)

    def expression(depth: int) -> str:
        if not depth:
            return picks.choice(["a", "b", "ab", "[ab]", "-", "."])
        one, two = expression(depth - 1), expression(depth - 1)
        return picks.choice(
            [
                one + two,
                f"({one})",
                f"(?:{one}|{two})",
                f"({one}|{two})",
                *(f"{group}{one}){picks.choice(REPEATS)}" for group in ("(", "(?:")),
            ]
        )

    triples: list[tuple[str, str, str]] = []
    while len(triples) < examples(7_500):
        pattern = f"({expression(picks.randrange(4))})(.*)"
        name = "".join(picks.choice("ab-") for _ in range(picks.randrange(7)))
        known = compiled(pattern)
        clear = sorted(set(range(1, min(known.group_count, 9) + 1)) - known.unclear)
        triples.append((pattern, "|".join(f"${number}" for number in clear), name))
    found = [(*triple, ours(*triple), made) for triple, made in zip(triples, java(triples), strict=True)]
    assert [one for one in found if one[3] != one[4]] == []
