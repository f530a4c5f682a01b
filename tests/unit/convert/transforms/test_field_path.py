"""Paths of field.syntax.version V2."""

from __future__ import annotations

import pytest

from ignite_kafka.convert.transforms.field_path import path_of


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("a", ("a",)), ("a.b", ("a", "b")), ("`a.b`.c", ("a.b", "c")), ("a.`b.c`", ("a", "b.c")), ("a.", ("a", "")), ("a`b.c", ("a`b", "c")),
     ("`a`b`.c", ("a`b", "c")), ("`a\\`.b`.c", ("a`.b", "c")), ("", ())],
)  # fmt: skip
def test_paths(text: str, wanted: tuple[str, ...]) -> None:
    assert path_of(text) == wanted


@pytest.mark.parametrize("text", ["`a", "a.`b", "`a\\`"])
def test_a_backtick_needs_another(text: str) -> None:
    with pytest.raises(ValueError, match="has no other"):
        path_of(text)
