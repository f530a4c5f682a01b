package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.internal.IgniteEx;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Lost changes, and the marks that report them. */
class BacklogLossTest {
    @TempDir
    Path directory;

    @Test
    void marksChangesMissedWithoutARegistration() throws Exception {
        try (TestCluster cluster = new TestCluster(directory).start(2)) {
            IgniteCache<Object, Object> cache = cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));

            cluster.service().start("c", TestCluster.FAST, new String[] {"a"});
            cache.put(1, 1);
            cluster.service().barrier("c");

            BacklogPlugin plugin = BacklogPlugin.of(((IgniteEx) cluster.node(0)).context());

            cluster.node(0).services().cancel("kafka-connect-backlog-service-c");
            cache.put(2, 2);
            plugin.registry().update("c", present -> present.registered("a", Set.of(UUID.randomUUID() + "/1")));
            cluster.service().update("c", new String[] {"a"});

            TestReader reader = new TestReader(cluster.node(0), "c", "a");

            reader.readOnce(cluster.service(), 1 << 20, true);
            assertEquals(Map.of(cluster.node(0).affinity("a").partition(2), UnitRecord.MISSED), reader.marks);
            assertEquals(Map.of(1, 1), reader.state);
        }
    }

    @Test
    void marksALostBacklogPartition() throws Exception {
        try (TestCluster cluster = new TestCluster(directory).start(1)) {
            cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));
            cluster.service().start("c", TestCluster.FAST, new String[] {"a"});
            cluster.service().barrier("c");

            TestReader reader = new TestReader(cluster.node(0), "c", "a");
            BacklogPlugin plugin = BacklogPlugin.of(((IgniteEx) cluster.node(0)).context());

            plugin.backlog(plugin.registry().get("c").settings)
                    .remove(reader.units(cluster.service()).get(3).record());
            reader.readOnce(cluster.service(), 1 << 20, true);
            assertEquals(Map.of(3, UnitRecord.LOST), reader.marks);
        }
    }

    @Test
    void givesUnitsUpBeforeTheRegionIsFull() throws Exception {
        try (TestCluster cluster =
                new TestCluster(directory).regionBytes(32L << 20).start(1)) {
            IgniteCache<Object, Object> cache = cluster.node(0).getOrCreateCache(TestCluster.cache("a", 0));

            cluster.service().start("c", TestCluster.FAST, new String[] {"a"});

            for (int i = 0; i < 60; i++) {
                Map<Object, Object> some = new TreeMap<>();

                for (int key = 0; key < 100; key++) some.put(key, new byte[10_000]);

                cache.putAll(some);
                cluster.service().barrier("c");
            }

            TestReader reader = new TestReader(cluster.node(0), "c", "a");

            reader.readOnce(cluster.service(), 1 << 20, false);
            assertFalse(reader.marks.isEmpty());
            assertTrue(reader.marks.values().stream().allMatch(mark -> mark == UnitRecord.GIVEN_UP));
            cache.put(1, 1);
            assertEquals(1, cache.get(1));
        }
    }
}
