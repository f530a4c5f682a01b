"""Stalled links and tasks: requests time out, a transaction open for too long ends its run, and the next run continues."""

from __future__ import annotations

from tests.soak.test_stream_faults_long import python_workers
from tests.stream.conftest import KINDS, RATE, WRITERS, MakeStream, assert_right
from tests.support.kafka_proxy import Api
from tests.support.oracle import ends
from tests.support.servers import ProxiedBroker
from tests.support.tcp_proxy import TcpProxy
from tests.support.traffic import TrafficProgram
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster, KafkaBroker


def test_a_task_that_stalls_beyond_the_time_of_its_transaction(
    pair: IgniteCluster, mortal_broker: ProxiedBroker, stream: MakeStream, traffic: TrafficProgram
) -> None:
    """The broker aborts; the task begins again from what is committed, and sends the rest."""
    times = {"transaction_timeout_ms": 3_000, "transaction_max_ms": 1_000}
    followed = stream(pair, mortal_broker, *KINDS, slots=1, **times)
    topics = [followed.topic(kind) for kind in KINDS]
    with traffic.start(pair, followed.writers(*WRITERS), seed=41, rate=RATE) as writers, followed.running() as app:
        followed.await_records(app, KINDS)
        held = mortal_broker.proxy.hold_reply(Api.PRODUCE, f"{followed.name}-0")
        app.reaches(held)
        asleep = wait_until(lambda: python_workers(app), "the workers of the app")
        for process in asleep:
            process.suspend()
        held.release()

        def settled() -> bool:
            return all(stable == end for topic in topics for stable, end in ends(mortal_broker.bootstrap, topic).values())

        wait_until(settled, "the end of the transaction")
        for process in asleep:
            process.resume()
        followed.await_records(app, KINDS)
        assert "transaction_timeout_ms is 3000" in app.output(), "the reason of the second attempt"
        writers.stop()
        assert_right(followed.await_same(app, *KINDS))
        followed.stop(app)
    assert_right(followed.verdicts(*KINDS))
    assert followed.unsent() == 0


def test_a_link_to_ignite_that_is_slow_silent_or_cut(
    pair: IgniteCluster, kafka: KafkaBroker, stream: MakeStream, traffic: TrafficProgram
) -> None:
    with TcpProxy(int(pair.addresses[0].rpartition(":")[2])) as proxy:
        followed = stream(pair, kafka, *KINDS, ignite_addresses=[proxy.address], ignite_request_timeout_ms=3_000)
        with traffic.start(pair, followed.writers(*WRITERS), seed=42, rate=RATE) as writers, followed.running() as app:
            followed.await_records(app, KINDS)
            proxy.delay_s = 0.2
            followed.await_records(app, KINDS, 10)
            proxy.delay_s = 0.0
            before = proxy.links
            proxy.silence()
            followed.await_records(app, KINDS, 10)
            assert proxy.links > before
            proxy.cut()
            followed.await_records(app, KINDS, 10)
            writers.stop()
            assert_right(followed.await_same(app, *KINDS))
            followed.stop(app)
        assert followed.unsent() == 0


def test_a_link_to_kafka_that_is_slow_silent_or_cut(
    pair: IgniteCluster, mortal_broker: ProxiedBroker, stream: MakeStream, traffic: TrafficProgram
) -> None:
    followed = stream(pair, mortal_broker, *KINDS, kafka_config={"socket.timeout.ms": "3000"})
    with traffic.start(pair, followed.writers(*WRITERS), seed=43, rate=RATE) as writers, followed.running() as app:
        followed.await_records(app, KINDS)
        slow = mortal_broker.proxy.delay_replies(Api.PRODUCE, 0.5, count=20)
        app.reaches(slow)
        followed.await_records(app, KINDS, 10)
        for api in (Api.PRODUCE, Api.END_TXN):
            silent = mortal_broker.proxy.hold_reply(api, f"{followed.name}-0")
            app.reaches(silent)
            followed.await_records(app, KINDS, 10)
            silent.drop()
        mortal_broker.proxy.cut()
        followed.await_records(app, KINDS, 10)
        writers.stop()
        assert_right(followed.await_same(app, *KINDS))
        followed.stop(app)
    assert followed.unsent() == 0
