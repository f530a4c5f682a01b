package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.internal.IgniteEx;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Restarts and deactivations of the whole cluster. */
class ClusterRestartTest {
    private static final int CYCLES = TestCluster.LONG_FORM ? 4 : 2;

    @TempDir
    Path directory;

    @Test
    void survivesARestartOfTheWholeCluster() throws Exception {
        String name = "c".repeat(180);

        try (TestCluster cluster = new TestCluster(directory).persistent().start(2)) {
            cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));

            Map<String, Object> started = cluster.service().start(name, TestCluster.FAST, new String[] {"a"});

            for (int i = 0; i < 50; i++) cluster.node(0).cache("a").put(i, i);

            cluster.stop();
            cluster.start(2);
            TestCluster.await(
                    () -> cluster.service().status(name).get("registered").equals(2), "the capture");

            Map<String, Object> status = cluster.service().status(name);

            assertEquals(started.get("captureId"), status.get("captureId"));
            assertEquals(started.get("incarnation.a"), status.get("incarnation.a"));

            TestReader reader = new TestReader(cluster.node(0), name, "a");

            cluster.node(0).cache("a").put(0, 100);
            reader.drain(cluster.service());
            assertEquals(51, reader.read);
            assertTrue(reader.marks.isEmpty());
            assertEquals(TestCluster.content(cluster.node(0).cache("a")), reader.state);
        }
    }

    @Test
    void losesNothingOverADeactivation() throws Exception {
        try (TestCluster cluster = new TestCluster(directory).persistent().start(2)) {
            IgniteCache<Object, Object> cache = cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));
            Object incarnation = cluster.service()
                    .start("c", Map.of(ConnectorSettings.FLUSH_FREQUENCY, "1000"), new String[] {"a"})
                    .get("incarnation.a");

            TestReader reader = new TestReader(cluster.node(0), "c", "a");

            for (int cycle = 0; cycle < CYCLES; cycle++) {
                for (int key = 0; key < 100; key++) cache.put(key, 10 * cycle);

                cluster.node(0).cluster().state(ClusterState.INACTIVE);

                Map<Object, Object> more = new TreeMap<>();
                int value = 10 * cycle + 1;
                CompletableFuture<Void> writer = CompletableFuture.runAsync(() -> {
                    while (!((IgniteEx) cluster.node(0)).context().state().publicApiActiveState(false))
                        Thread.onSpinWait();

                    for (int key = 25; key < 75; key++) more.put(key, value);

                    cluster.node(0).cache("a").putAll(more);
                });

                cluster.node(0).cluster().state(ClusterState.ACTIVE);
                writer.join();
                TestCluster.await(() -> registered(cluster) == 2, "the capture");
                cache.put(100 + cycle, 1);
                reader.drain(cluster.service());
                assertEquals(incarnation, cluster.service().status("c").get("incarnation.a"));
                assertEquals(
                        Set.of(), missed(reader, cluster), "differing keys in unmarked partitions, cycle " + cycle);
                sendAgain(reader, cluster);
            }
        }
    }

    /** Keys whose value differs between reader and cache although their partition is not marked. */
    private static Set<Object> missed(TestReader reader, TestCluster cluster) throws Exception {
        Map<Object, Object> content = TestCluster.content(cluster.node(0).cache("a"));

        assertTrue(reader.marks.values().stream().allMatch(mark -> mark == UnitRecord.MISSED));
        content.keySet()
                .removeIf(key ->
                        reader.marks.containsKey(cluster.node(0).affinity("a").partition(key)));
        content.entrySet().removeAll(reader.state.entrySet());

        return content.keySet();
    }

    /** Sends marked units again, as a reader does. */
    private static void sendAgain(TestReader reader, TestCluster cluster) throws Exception {
        ByteBuffer clear = Chunk.buffer(new byte[24 * reader.marks.size()]);

        reader.units(cluster.service()).stream()
                .filter(unit -> reader.marks.containsKey(unit.partition))
                .forEach(unit -> clear.putInt(unit.cacheId)
                        .putInt(unit.partition)
                        .putLong(unit.incarnation)
                        .putLong(reader.markNumbers.get(unit.partition)));
        cluster.service().clear("c", clear.array());
        reader.state.putAll(TestCluster.content(cluster.node(0).cache("a")));
        reader.drain(cluster.service());
        assertTrue(reader.marks.isEmpty());
    }

    @Test
    void cachesEmptiedByADeactivationGetANewIncarnation() throws Exception {
        try (TestCluster cluster =
                new TestCluster(directory).persistentBacklog().start(2)) {
            IgniteCache<Object, Object> cache = cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));
            Map<String, Object> before = cluster.service().start("c", TestCluster.FAST, new String[] {"a"});

            cache.put(1, 1);
            cluster.service().barrier("c");
            ((IgniteEx) cluster.node(0)).cluster().state(ClusterState.INACTIVE, true);
            cluster.node(0).cluster().state(ClusterState.ACTIVE);
            TestCluster.await(() -> registered(cluster) == 2, "the capture");

            Map<String, Object> after = cluster.service().status("c");

            assertEquals(before.get("captureId"), after.get("captureId"));
            assertNotEquals(before.get("incarnation.a"), after.get("incarnation.a"));
            assertNull(cache.get(1));
            cache.put(2, 2);

            TestReader reader = new TestReader(cluster.node(0), "c", "a");

            reader.drain(cluster.service());
            assertEquals(Map.of(2, 2), reader.state);
            assertTrue(reader.marks.isEmpty());
        }
    }

    /** Returns 0 while services are deployed again and none answers. */
    private static int registered(TestCluster cluster) {
        try {
            return (int) cluster.service().status("c").get("registered");
        } catch (IgniteException e) {
            return 0;
        }
    }

    @Test
    void aLostBacklogInMemoryGivesANewCaptureId() {
        try (TestCluster cluster = new TestCluster(directory).start(1)) {
            cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));

            Object before = cluster.service()
                    .start("c", TestCluster.FAST, new String[] {"a"})
                    .get("captureId");

            cluster.stop();
            cluster.start(1);
            assertEquals(0, cluster.service().connectors().length);
            cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));
            assertNotEquals(
                    before,
                    cluster.service()
                            .start("c", TestCluster.FAST, new String[] {"a"})
                            .get("captureId"));
        }
    }
}
