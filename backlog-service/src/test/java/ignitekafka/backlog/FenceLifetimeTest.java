package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.internal.IgniteEx;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Nodes that join, and a cluster that restarts, know which tasks of sinks may write. */
class FenceLifetimeTest {
    private static final String SINK = "sink";
    private static final String[] CACHES = {"a"};
    private static final int KEYS = 200;

    @TempDir
    Path directory;

    @Test
    void aNodeThatJoinsRefusesWhatTheOthersRefuse() {
        try (TestCluster cluster = new TestCluster(directory).start(1)) {
            IgniteCache<Object, Object> cache = cluster.node(0)
                    .createCache(TestCluster.cache("a", 1)
                            .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC));

            cluster.service().raise(SINK, FencedWrites.writer(1, 0, 0), CACHES);
            write(cluster, 1, 0, "older");
            cluster.service().raise(SINK, FencedWrites.writer(1, 1, 0), CACHES);

            Ignite joined = cluster.startNode("joined");

            TestCluster.await(
                    () -> joined.affinity("a")
                                    .primaryPartitions(joined.cluster().localNode())
                                    .length
                            > 0,
                    "partitions of the new node");
            assertFenced(cluster, 1, 0);
            write(cluster, 1, 1, "newer");
            assertEquals(KEYS, TestCluster.content(cache).size()); // size() counts partitions that move twice

            // The new node alone, with what it was told when it joined.
            cluster.kill(cluster.node(0));
            TestCluster.await(() -> joined.cluster().forServers().nodes().size() == 1, "the end of the first node");
            assertFenced(cluster, 1, 0);
            write(cluster, 1, 1, "newest");
            assertEquals("newest", joined.cache("a").get(0));
        }
    }

    @Test
    void aFenceSurvivesARestartOfThePersistentCluster() {
        try (TestCluster cluster = new TestCluster(directory).persistent().start(1)) {
            cluster.node(0).createCache(TestCluster.cache("a", 0));
            cluster.service().raise(SINK, FencedWrites.writer(4, 0, 0), CACHES);
            write(cluster, 4, 0, "before");
            cluster.stop();
            cluster.start(1);
            cluster.node(0).cluster().state(ClusterState.ACTIVE);
            assertEquals(4, cluster.service().generation(SINK));
            assertFenced(cluster, 3, 0);
            write(cluster, 4, 0, "after");
            assertEquals("after", cluster.node(0).cache("a").get(0));
        }
    }

    @Test
    void aNodeWithoutTheJarMayNotJoinAStrictSinksCluster() {
        try (TestCluster cluster = new TestCluster(directory).start(1)) {
            cluster.node(0).createCache(TestCluster.cache("a", 0));
            cluster.service().raise(SINK, FencedWrites.writer(1, 0, 0), CACHES);

            Exception refused = assertThrows(Exception.class, () -> cluster.start(cluster.withoutJar("bare")));

            assertTrue(message(refused).contains("strict sinks are [" + SINK + ']'), message(refused));
            cluster.service().forget(SINK, CACHES);
            cluster.start(cluster.withoutJar("bare"));
            assertEquals(
                    2,
                    ((IgniteEx) cluster.node(0)).cluster().forServers().nodes().size());
        }
    }

    private static void write(TestCluster cluster, int generation, int attempt, String value) {
        Map<Object, Object> entries = new TreeMap<>();

        for (int key = 0; key < KEYS; key++) entries.put(key, value);

        cluster.service()
                .write(
                        SINK,
                        FencedWrites.writer(generation, attempt, 0),
                        "a",
                        false,
                        FencedWrites.request(cluster.node(0), entries));
    }

    private static void assertFenced(TestCluster cluster, int generation, int attempt) {
        BacklogException error =
                assertThrows(BacklogException.class, () -> write(cluster, generation, attempt, "refused"));

        assertEquals(BacklogException.Code.FENCED, error.code());
    }

    private static String message(Throwable error) {
        StringBuilder all = new StringBuilder();

        for (Throwable cause = error; cause != null; cause = cause.getCause())
            all.append(cause.getMessage()).append('\n');

        return all.toString();
    }
}
