"""Names of encodings as Java has them."""

from __future__ import annotations

import codecs

import pytest

from ignite_kafka.settings.encodings import CODECS, ENCODING


@pytest.mark.parametrize(("given", "name"), [("utf8", "UTF-8"), ("UTF-8", "UTF-8"), ("Latin1", "ISO-8859-1"), (" Cp1252 ", "windows-1252")])
def test_names_and_aliases_have_one_form(given: str, name: str) -> None:
    assert ENCODING.parse(given) == name
    assert ENCODING.parse(name) == name


def test_every_encoding_has_a_codec() -> None:
    assert [codecs.lookup(codec).name for codec in CODECS.values()]


@pytest.mark.parametrize("given", ["", "utf-99", "base64", 8])
def test_others_are_refused(given: object) -> None:
    with pytest.raises(ValueError, match="none of these"):
        ENCODING.parse(given)
