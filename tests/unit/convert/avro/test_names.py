"""Names that Avro takes, and what scrubbing makes of others. The scrubbed ones are those of Confluent's AvroDataTest."""

from __future__ import annotations

import pytest

from ignite_kafka.convert.avro import names


@pytest.mark.parametrize(
    ("name", "scrubbed"),
    [
        ("abc", "abc"), ("9abc", "x9abc"), ("a-b", "a_b"), ("a b", "a_b"), ("", ""), ("Outer$Inner", "Outer_24Inner"), ("a~b", "a_7Eb"),
        ("é", "_C3_A9"), ("_x9", "_x9"), ("a*b", "a_b"), ("a/b%", "a_2Fb_25"),
    ],
)  # fmt: skip
def test_scrubbing(name: str, scrubbed: str) -> None:
    assert names.scrubbed(name) == scrubbed
    assert not scrubbed or names.is_valid(scrubbed)


def test_each_part_of_a_full_name_is_scrubbed() -> None:
    assert names.scrubbed_full("org.acme-x.Outer$Inner") == "org.acme_x.Outer_24Inner"
    assert names.split("org.acme.A") == ("org.acme", "A")
    assert names.split("A") == ("", "A")


@pytest.mark.parametrize("name", ["Outer$Inner", "9a", "", "a-b", "a b", "a.b"])
def test_names_that_avro_refuses(name: str) -> None:
    assert not names.is_valid(name)


@pytest.mark.parametrize("name", ["a", "_", "A9", "größe"])
def test_names_that_javas_avro_takes(name: str) -> None:
    assert names.is_valid(name)
