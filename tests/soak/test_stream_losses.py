"""What the cluster itself loses: partitions without an owner, and all that a cluster in memory had. Nothing of it passes for a removal."""

from __future__ import annotations

import pytest

from tests.stream.conftest import ENTRIES, MakeStream, assert_right
from tests.support.stream_oracle import read_now
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster, KafkaBroker

# pyignite leaves the socket open of a node that it cannot reach
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def tombstones(kafka: KafkaBroker, topic: str) -> int:
    return sum(record.value is None for record in read_now(kafka.bootstrap, topic).records)


def test_partitions_without_an_owner_end_the_run(mortal_pair: IgniteCluster, kafka: KafkaBroker, stream: MakeStream) -> None:
    """No key of theirs counts as removed, neither by the run that sees it nor by a later one."""
    followed = stream(mortal_pair, kafka, "lone-a", retry_timeout_ms=15_000)
    with followed.running() as app:
        assert_right(followed.await_same(app, "lone-a"))
        mortal_pair.kill(1)
        result = app.result().assert_exit(1)
    assert result.error is not None
    assert result.error[0] == "ScanFailed"
    assert "lost" in result.error[1]
    with followed.running() as again:
        again.result().assert_exit(1)
    assert tombstones(kafka, followed.topic("lone-a")) == 0


def test_all_nodes_of_a_cluster_in_memory_killed(mortal_pair: IgniteCluster, kafka: KafkaBroker, stream: MakeStream) -> None:
    """The backlog is gone with the caches: the run says so, and the next one sends all again, the removals too."""
    followed = stream(mortal_pair, kafka, "atomic-a")
    with followed.running() as app:
        assert_right(followed.await_same(app, "atomic-a"))
        mortal_pair.kill_and_start_nodes()
        app.result().assert_exit(1)
    with mortal_pair.client() as client:
        client.get_or_create_cache(followed.cache("atomic-a")).put_all(dict.fromkeys(range(500), 7))
    with followed.running() as again:
        wait_until(lambda: "15141" in again.output(), "the word that the capture is lost")
        verdicts = followed.await_same(again, "atomic-a")
        assert_right(verdicts, besides=("repeated",))
        assert verdicts["atomic-a"].entries == 500
        assert verdicts["atomic-a"].tombstones == ENTRIES - 500
        followed.stop(again)
    assert followed.unsent() == 0
