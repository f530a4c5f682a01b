"""Batches of keys whose entries fit into one reply; the removal itself is on servers, in test_role_transitions."""

from __future__ import annotations

from ignite_kafka.role_transitions.align import split_keys


def test_a_batch_is_bounded_by_its_keys_and_by_the_bytes_of_their_entries() -> None:
    keys = [number.to_bytes(2, "big") for number in range(2_500)]
    assert [len(batch) for batch in split_keys((key, b"") for key in keys)] == [1_000, 1_000, 500]
    sizes = [10, 3, 3, 90, 1]
    batches = list(split_keys(((key, b"v" * size) for key, size in zip(keys, sizes, strict=False)), size_bytes=15))
    assert batches == [keys[:1], keys[1:3], keys[3:4], keys[4:5]], "a larger entry goes alone"
    assert list(split_keys([])) == []
