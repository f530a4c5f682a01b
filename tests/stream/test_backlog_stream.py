"""A connector that follows caches under writers that never pause: the fold of each topic is its cache, and no key steps back."""

from __future__ import annotations

from tests.stream.conftest import ENTRIES, MakeStream, assert_right
from tests.support.traffic import TrafficProgram
from tools.servers import IgniteCluster, KafkaBroker

KINDS = ("atomic-a", "tx-a", "grouped-a", "grouped-b")
STREAMED = "atomic-b"
WRITERS = ("puts:atomic-a", "batches:atomic-a", "tx:tx-a", "tx:grouped-a,grouped-b", f"stream:{STREAMED}", f"insert:{STREAMED}")


def test_the_topics_follow_the_caches(pair: IgniteCluster, kafka: KafkaBroker, stream: MakeStream, traffic: TrafficProgram) -> None:
    """Initial load, changes, removals, rolled-back transactions, two caches of one group, both kinds of data streamer."""
    followed = stream(pair, kafka, *KINDS, STREAMED)
    with traffic.start(pair, followed.writers(*WRITERS), seed=11, rate=150) as writers, followed.running() as app:
        followed.await_records(app, [*KINDS, STREAMED])
        writers.await_operations(600)
        counts = writers.stop()
        assert min(counts.puts, counts.removes, counts.rolled_back) > 0
        assert_right(followed.await_same(app, *KINDS))
        # an insert takes a number of its own on each owner: its key is looked up, and what is there may have been sent
        assert_right(followed.await_same(app, STREAMED), besides=("repeated",))
        followed.stop(app)
    assert followed.unsent() == 0
    sent = {kind: verdict.records for kind, verdict in followed.verdicts(*KINDS, STREAMED).items()}
    with followed.running(run_mode="once") as app:  # it catches up, with nothing
        app.result().assert_exit(0)
    verdicts = followed.verdicts(*KINDS, STREAMED)
    assert_right(verdicts, besides=("repeated",))
    assert {kind: verdict.records for kind, verdict in verdicts.items()} == sent


def test_a_new_cache_is_taken_up_and_one_made_again_is_new(
    pair: IgniteCluster, kafka: KafkaBroker, stream: MakeStream, traffic: TrafficProgram
) -> None:
    followed = stream(pair, kafka, "atomic-a", "atomic-b")
    with traffic.start(pair, followed.writers("puts:atomic-a"), seed=12, rate=50) as writers, followed.running() as app:
        followed.await_records(app, ["atomic-a", "atomic-b"])
        followed.await_totals(app, {"atomic-b": ENTRIES})
        followed.destroy("atomic-b")
        followed.fill("atomic-c")
        followed.await_records(app, ["atomic-c"])
        followed.fill("atomic-b", value=1)
        with traffic.start(pair, followed.writers("puts:atomic-c"), seed=13, rate=50) as to_new:
            followed.await_totals(app, {"atomic-b": 2 * ENTRIES})
            with traffic.start(pair, followed.writers("batches:atomic-b"), seed=14, rate=50, first=1) as to_made_again:
                to_made_again.await_operations(50)
                to_made_again.stop()
            to_new.stop()
        writers.stop()
        # client nodes came and went: where the topology changes, what was sent last is looked up and may be sent again
        assert_right(followed.await_same(app, "atomic-a", "atomic-b", "atomic-c"), besides=("repeated",))
        followed.stop(app)
