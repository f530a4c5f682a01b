"""A stream and a sink that run side by side on the same servers, for faults that befall both."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.state.target_state import STOPPED, write_target
from tests.stream.conftest import Stream, assert_right
from tests.support.processes import App
from tests.support.sink_case import SinkCase
from tests.support.traffic import Traffic, TrafficProgram
from tests.support.waiting import wait_until

KINDS = ("atomic-a", "tx-a")
WRITERS = ("puts:atomic-a", "tx:tx-a")
RATE = 40.0
RECORDS = 400


@dataclass
class StreamAndSink:
    """A stream of two caches with traffic, and a continuous sink, of one cluster of brokers and one of nodes.

    :param settings: of both connectors.
    """

    followed: Stream
    case: SinkCase
    program: TrafficProgram
    settings: dict[str, Any] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[StreamAndSink]:
        """Both run, and have sent and stored their first records."""
        self.sent = self.case.records
        traffic = self.program.start(self.case.ignite, self.followed.writers(*WRITERS), seed=self.case.seed, rate=RATE)
        with (
            traffic as self.writers,
            self.followed.running(**self.settings) as self.stream,
            self.case.running(settings={"run_mode": "continuous", **self.settings}) as self.sink,
        ):
            self.flow("the first records")
            yield self

    writers: Traffic = field(init=False)
    stream: App = field(init=False)
    sink: App = field(init=False)
    sent: int = field(init=False)

    def send(self) -> None:
        """Append records to the sink's topic."""
        self.case.send(RECORDS)
        self.sent += RECORDS

    def flow(self, what: str, more: int = 10) -> None:
        """Wait until the stream has sent more records and the sink has committed all of its topic; the seconds go to :attr:`waits`."""
        began = time.monotonic()
        wait_until(self._sunk, lambda: f"{what}: {self.case.committed()} of {self.sent} records of {self.sink.log}")
        sunk = time.monotonic() - began
        self.followed.await_records(self.stream, KINDS, more)
        self.waits.append(time.monotonic() - began)
        print(f"{what}: sink {sunk:.1f} s, stream {self.waits[-1] - sunk:.1f} s later", flush=True)

    def _sunk(self) -> bool:
        assert self.sink.running(), f"the sink ended, seed {self.case.seed}:\n{self.sink.output_tail()}"
        return sum(self.case.committed().values()) >= self.sent

    def judge(self, besides: tuple[str, ...] = ()) -> None:
        """Stop both in good order; caches and topics are equal, and nothing waits.

        :param besides: see :meth:`tests.support.stream_oracle.Verdict.faults`.
        """
        self.writers.stop()
        verdicts = self.followed.await_same(self.stream, *KINDS)
        print("; ".join(map(str, verdicts.values())), flush=True)
        assert_right(verdicts, besides=besides)
        self.followed.stop(self.stream)
        stop_sink(self.case, self.sink)
        assert_right(self.followed.verdicts(*KINDS), besides=besides)
        print(self.case.assert_same(), flush=True)
        assert self.followed.unsent() == 0


def stop_sink(case: SinkCase, app: App) -> None:
    """Ask a sink to stop, and wait until it has done so in good order."""
    clients = KafkaClients({"bootstrap.servers": case.broker.bootstrap})
    write_target(clients, Topics(clients), f"int-{case.name}", case.name, STOPPED)
    app.result().assert_exit(0)


def has_event(app: App, event_id: int) -> bool:
    """Whether a run has logged an event, by its driver or a worker."""
    return re.search(rf"^(\S+ \S+ \S+ )?{event_id} # ", app.output(), re.MULTILINE) is not None
