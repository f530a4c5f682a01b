"""Properties files are read as Java reads them."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

from ignite_kafka.java.properties import parse
from tests.support.randomness import generator

JAVA = Path(__file__).parents[3] / "java" / "PropertiesReader.java"
ALPHABET = ["a", "b", "=", ":", " ", "\t", "\f", "\\", "\\", "\n", "\r", "\r\n", "#", "!", "\\u0041", "\\u00e9", "\\n", "é", "\0"]


def without_empty_key(entries: dict[str, str]) -> dict[str, str]:
    """Whether a lone backslash at a file's end makes an empty key depends on Java's buffer."""
    return {key: value for key, value in entries.items() if key}


def test_random_texts_are_read_as_java_reads_them() -> None:
    chance = generator(20240229)
    texts = ["".join(chance.choice(ALPHABET) for _ in range(chance.randrange(24))) for _ in range(2_000)]
    lines = "\n".join(base64.b64encode(text.encode("iso-8859-1")).decode() for text in texts)
    done = subprocess.run(["java", "-Xshare:auto", str(JAVA)], input=lines, capture_output=True, text=True, check=True)
    for text, line in zip(texts, done.stdout.splitlines(), strict=True):
        found = {entry.key: entry.value for entry in parse(text)}
        assert without_empty_key(found) == without_empty_key(json.loads(line)), repr(text)
