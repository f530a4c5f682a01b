"""Regular expressions match the names that Java's own matcher matches."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

from ignite_kafka.java.patterns import matches_whole

JAVA = Path(__file__).parents[2] / "java" / "PatternMatcher.java"

PATTERNS = [
    r"\p{Alpha}+",
    r"(?!tmp-).*", r"(a|ab)(c|bcd)?(d*)", r"(?i)AB", r"(?:a{2,3}){1,2}b?", r"a.*?b|a(?=b)b", r".*(?<!b)", r"(?i:a)b",
    r"[\p{Upper}_]+", r"\P{Digit}*", r"\Qa.b\E", r"\Qa.b", r"(?<first>a)b?", r"a\z", r"\w+", r"\d+", r"[^\s]+", r".*",
    r"(?i)ab", r"\\Qa", r"x?\p{Punct}x?", r"a{1,2}", r"(?:a|ab)c?", r"\[a\]", r"a.b", r"[a\]]+", r"\x61b", r"é", r"\p{ASCII}*",
]  # fmt: skip
NAMES = [
    "a",
    "b",
    "ab",
    "AB",
    "A_B",
    "a.b",
    "axb",
    "aab",
    "aa",
    "12",
    "١",
    "é",
    "abc",
    "x.x",
    "_",
    "[a]",
    "a]",
    r"\Qa",
    "a\n",
    "",
    "a b",
    "ı",
]


def test_patterns_mean_what_java_says_they_mean() -> None:
    pairs = [(pattern, name) for pattern in PATTERNS for name in NAMES]
    lines = "\n".join(" ".join(base64.b64encode(text.encode()).decode() or "=" for text in pair) for pair in pairs)
    done = subprocess.run(["java", "-Xshare:auto", str(JAVA)], input=lines, capture_output=True, text=True, check=True)
    differing = [
        pair for pair, java in zip(pairs, done.stdout.split(), strict=True) if matches_whole(pair[1], pair[0]) is not (java == "true")
    ]
    assert differing == []
