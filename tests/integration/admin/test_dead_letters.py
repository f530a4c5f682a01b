"""Dead letters of a real sink: shown with their reasons, and sent again unless a newer record of the key exists."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.admin.dead_letters import Replay, list_dead_letters, replay
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.secrets import Secrets
from tests.support.sink_connector import COLUMNS, Sink, expected, trade


def policy(sink: Sink) -> dict[str, Any]:
    return {"error_handling_policy": "DEAD_LETTER", "dead_letter_topic": f"{sink.name}-dead"}


def test_letters_are_sent_again_once_and_never_over_a_newer_record(sink: Sink) -> None:
    of_long = {"cache_fields": {**COLUMNS, "price": "java.lang.Long"}, "cache_value_type": f"Other{sink.name}"}
    headers = [("trace", b"a")]
    # prices with a fraction do not fit: 7 can be sent again, 8 has a newer record, 9 has a newer letter
    sink.send([trade(7), trade(8), trade(9), (None, trade(10)[1])], partition=0, headers=headers)
    sink.send([trade(8, price=8), trade(9, price=9.5)], partition=0)
    assert sink.run(**of_long, **policy(sink)).caches[sink.cache].bad == 5
    listed = list_dead_letters(sink.settings, Secrets())
    assert (listed.topic, listed.replayable) == (f"{sink.name}-dead", True)
    assert [row.origin["offset"] for row in listed.letters] == ["5", "3", "2", "1", "0"]
    assert listed.letters[0].origin == {"topic": sink.topic, "partition": "0", "offset": "5"}
    assert listed.letters[0].stage == "TASK_PUT"
    assert "price" in listed.letters[0].message
    # the cache gets the right type, and the sink what it has refused
    sink.ignite.destroy_caches(sink.cache)
    assert replay(sink.settings, Secrets()) == Replay(sink.name, sent=2, superseded=2, without_key=1)
    sent = [message for message in sink.messages(sink.topic) if message.partition() == 0][6:]
    assert [(message.key(), message.headers()) for message in sent] == [(b"7", headers), (b"9", None)]
    sink.run(**policy(sink))
    assert sink.entries() == {7: expected(7), 9: {**expected(9), "price": 9.5}}
    assert replay(sink.settings, Secrets()) == Replay(sink.name, superseded=4, without_key=1)


def test_a_record_at_which_the_sink_has_stopped_waits_for_the_sink(sink: Sink) -> None:
    sink.send([(b"7", b'{"id":')], partition=0)
    for _ in range(2):
        with pytest.raises(Exception, match="JSON"):
            sink.run(error_handling_policy="STOP_TASK", conversion_error_policy="STOP_TASK", dead_letter_topic=f"{sink.name}-dead")
    assert replay(sink.settings, Secrets()) == Replay(sink.name, waiting=1)


def test_a_sink_whose_key_is_no_record_s_key_is_refused(sink: Sink) -> None:
    sink.send([trade(1)], partition=0)
    sink.run(key_policy="value", key_fields=("id",), **policy(sink))
    with pytest.raises(SettingsError, match="no newer record of the same entry can be recognized"):
        replay(sink.settings, Secrets())
    assert not list_dead_letters(sink.settings, Secrets()).replayable
