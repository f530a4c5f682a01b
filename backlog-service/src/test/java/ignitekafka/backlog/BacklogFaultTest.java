package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.internal.IgniteEx;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the backlog keeps, and what loss it tells, when nodes die, join, restart, or are full. */
class BacklogFaultTest {
    private static final Map<String, String> FAST = Map.of(ConnectorSettings.FLUSH_FREQUENCY, "50");

    @TempDir
    Path directory;

    @ParameterizedTest
    @EnumSource(
            value = CacheAtomicityMode.class,
            names = {"ATOMIC", "TRANSACTIONAL"})
    void losesNothingWhenARegisteringNodeDiesAndAnotherJoins(CacheAtomicityMode mode) throws Exception {
        try (TestCluster cluster = new TestCluster(directory).start(3)) {
            IgniteCache<Object, Object> cache = cluster.node(0)
                    .getOrCreateCache(TestCluster.cache("a", 1)
                            .setAtomicityMode(mode)
                            .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC));

            cluster.service().start("c", FAST, new String[] {"a"});

            TestReader reader = new TestReader(cluster.node(0), "c", "a");
            AtomicBoolean stop = new AtomicBoolean();
            AtomicInteger value = new AtomicInteger();
            List<CompletableFuture<Void>> writers = new ArrayList<>();

            for (int writer = 0; writer < 2; writer++) writers.add(write(cache, writer, value, stop));

            reader.pass(cluster.service(), 1 << 20, true);
            cluster.kill(other(cluster));
            pass(reader, cluster, 20);
            cluster.startNode("node-3");
            pass(reader, cluster, 20);
            stop.set(true);
            writers.forEach(CompletableFuture::join);
            reader.drain(cluster.service());

            assertTrue(value.get() > 200, "written: " + value);
            assertEquals(BacklogServiceTest.content(cache), reader.fold);
            assertEquals(0, reader.stepsBack);
            assertTrue(reader.marks.isEmpty());
            TestCluster.await(
                    () -> cluster.service().status("c").get("registered").equals(2), "two registrations");
        }
    }

    private static Ignite other(TestCluster cluster) {
        Connector connector = BacklogPlugin.of(((IgniteEx) cluster.node(0)).context())
                .registry()
                .get("c");

        return cluster.nodes().stream()
                .filter(node -> node != cluster.node(0)
                        && connector.registered("a").stream()
                                .map(CaptureService::node)
                                .anyMatch(node.cluster().localNode().id()::equals))
                .findFirst()
                .orElseThrow();
    }

    private static void pass(TestReader reader, TestCluster cluster, int times) throws Exception {
        for (int i = 0; i < times; i++) {
            reader.pass(cluster.service(), 1 << 20, true);
            Thread.sleep(50);
        }
    }

    private static CompletableFuture<Void> write(
            IgniteCache<Object, Object> cache, int writer, AtomicInteger value, AtomicBoolean stop) {
        return CompletableFuture.runAsync(() -> {
            for (Random random = new Random(writer); !stop.get(); ) {
                int key = 2 * random.nextInt(100) + writer;

                try {
                    if (random.nextInt(10) == 0) cache.remove(key);
                    else cache.put(key, value.incrementAndGet());
                } catch (javax.cache.CacheException e) {
                    // The node died; the next one goes on.
                }
            }
        });
    }

    @Test
    void anyUnitMayHaveChangedWhenANodeComesOrGoes() throws Exception {
        try (TestCluster cluster = new TestCluster(directory).start(2)) {
            cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));
            cluster.service().start("c", FAST, new String[] {"a"});

            TestReader reader = new TestReader(cluster.node(0), "c", "a");

            awaitNothing(reader, cluster);
            cluster.startNode("node-2");
            assertNull(reader.changed(cluster.service()));
            awaitNothing(reader, cluster);
            cluster.kill(cluster.nodes().get(1));
            assertNull(reader.changed(cluster.service()));
        }
    }

    /** The owners of partitions change once more when rebalancing ends. */
    private static void awaitNothing(TestReader reader, TestCluster cluster) {
        TestCluster.await(
                () -> Set.of().equals(reader.changed(cluster.service())), "nodes that tell that nothing has changed");
    }

    @Test
    void tellsWhatWasMissedWhenNoRegistrationWasLeft() throws Exception {
        try (TestCluster cluster = new TestCluster(directory).start(2)) {
            IgniteCache<Object, Object> cache = cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));

            cluster.service().start("c", FAST, new String[] {"a"});
            cache.put(1, 1);
            cluster.service().barrier("c");

            BacklogPlugin plugin = BacklogPlugin.of(((IgniteEx) cluster.node(0)).context());

            cluster.node(0).services().cancel("kafka-connect-backlog-service-c");
            cache.put(2, 2);
            plugin.registry()
                    .update("c", present -> present.registered("a", Set.of(java.util.UUID.randomUUID() + "/1")));
            cluster.service().update("c", new String[] {"a"});

            TestReader reader = new TestReader(cluster.node(0), "c", "a");

            reader.pass(cluster.service(), 1 << 20, true);
            assertEquals(Map.of(cluster.node(0).affinity("a").partition(2), UnitRecord.MISSED), reader.marks);
            assertEquals(Map.of(1, 1), reader.fold);
        }
    }

    @Test
    void survivesARestartOfTheWholeCluster() throws Exception {
        String name = "c".repeat(180);

        try (TestCluster cluster = new TestCluster(directory).persistent().start(2)) {
            cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));

            Map<String, Object> started = cluster.service().start(name, FAST, new String[] {"a"});

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
            assertEquals(BacklogServiceTest.content(cluster.node(0).cache("a")), reader.fold);
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

            for (int cycle = 0; cycle < 4; cycle++) {
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
                        Set.of(), missed(reader, cluster), "keys in partitions that are not marked, in cycle " + cycle);
                sendAgain(reader, cluster);
            }
        }
    }

    /** Keys that the reader has not as the cache has them, though their partition is not marked. */
    private static Set<Object> missed(TestReader reader, TestCluster cluster) throws Exception {
        Map<Object, Object> content = BacklogServiceTest.content(cluster.node(0).cache("a"));

        assertTrue(reader.marks.values().stream().allMatch(mark -> mark == UnitRecord.MISSED));
        content.keySet()
                .removeIf(key ->
                        reader.marks.containsKey(cluster.node(0).affinity("a").partition(key)));
        content.entrySet().removeAll(reader.fold.entrySet());

        return content.keySet();
    }

    /** As a reader does with what is marked. */
    private static void sendAgain(TestReader reader, TestCluster cluster) throws Exception {
        ByteBuffer clear = Chunk.buffer(new byte[24 * reader.marks.size()]);

        reader.units(cluster.service()).stream()
                .filter(unit -> reader.marks.containsKey(unit.partition))
                .forEach(unit -> clear.putInt(unit.cacheId)
                        .putInt(unit.partition)
                        .putLong(unit.incarnation)
                        .putLong(reader.markNumbers.get(unit.partition)));
        cluster.service().clear("c", clear.array());
        reader.fold.putAll(BacklogServiceTest.content(cluster.node(0).cache("a")));
        reader.drain(cluster.service());
        assertTrue(reader.marks.isEmpty());
    }

    @Test
    void beginsAnewWithCachesThatADeactivationEmptied() throws Exception {
        try (TestCluster cluster =
                new TestCluster(directory).persistentBacklog().start(2)) {
            IgniteCache<Object, Object> cache = cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));
            Map<String, Object> before = cluster.service().start("c", FAST, new String[] {"a"});

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
            assertEquals(Map.of(2, 2), reader.fold);
            assertTrue(reader.marks.isEmpty());
        }
    }

    /** While services are deployed again, there is none to ask. */
    private static int registered(TestCluster cluster) {
        try {
            return (int) cluster.service().status("c").get("registered");
        } catch (IgniteException e) {
            return 0;
        }
    }

    @Test
    void isDeployedOnceWhenNodesJoinAtTheSameTime() {
        try (TestCluster cluster = new TestCluster(directory).start(1)) {
            List<CompletableFuture<Ignite>> joining = new ArrayList<>();

            for (int node = 1; node < 4; node++) {
                IgniteConfiguration configuration = cluster.configuration("node-" + node);

                joining.add(CompletableFuture.supplyAsync(() -> cluster.start(configuration)));
            }

            joining.forEach(CompletableFuture::join);
            TestCluster.await(
                    () -> cluster.node(0).services().serviceDescriptors().stream()
                            .filter(service -> service.name().equals(BacklogService.NAME))
                            .allMatch(service -> service.topologySnapshot().size() == 4),
                    "the service on each node");
            assertEquals(1, cluster.node(0).services().serviceDescriptors().size());
        }
    }

    @Test
    void tellsTheLossOfABacklogInMemory() {
        try (TestCluster cluster = new TestCluster(directory).start(1)) {
            cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));

            Object before =
                    cluster.service().start("c", FAST, new String[] {"a"}).get("captureId");

            cluster.stop();
            cluster.start(1);
            assertEquals(0, cluster.service().connectors().length);
            cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));
            assertNotEquals(
                    before,
                    cluster.service().start("c", FAST, new String[] {"a"}).get("captureId"));
        }
    }

    @Test
    void tellsTheLossOfABacklogPartition() throws Exception {
        try (TestCluster cluster = new TestCluster(directory).start(1)) {
            cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));
            cluster.service().start("c", FAST, new String[] {"a"});
            cluster.service().barrier("c");

            TestReader reader = new TestReader(cluster.node(0), "c", "a");
            BacklogPlugin plugin = BacklogPlugin.of(((IgniteEx) cluster.node(0)).context());

            plugin.backlog(plugin.registry().get("c").settings)
                    .remove(reader.units(cluster.service()).get(3).record());
            reader.pass(cluster.service(), 1 << 20, true);
            assertEquals(Map.of(3, UnitRecord.LOST), reader.marks);
        }
    }

    @Test
    void givesUnitsUpBeforeTheRegionIsFull() throws Exception {
        try (TestCluster cluster =
                new TestCluster(directory).regionBytes(32L << 20).start(1)) {
            IgniteCache<Object, Object> cache = cluster.node(0).getOrCreateCache(TestCluster.cache("a", 0));

            cluster.service().start("c", FAST, new String[] {"a"});

            for (int i = 0; i < 60; i++) {
                Map<Object, Object> some = new TreeMap<>();

                for (int key = 0; key < 100; key++) some.put(key, new byte[10_000]);

                cache.putAll(some);
                cluster.service().barrier("c");
            }

            TestReader reader = new TestReader(cluster.node(0), "c", "a");

            reader.pass(cluster.service(), 1 << 20, false);
            assertFalse(reader.marks.isEmpty());
            assertTrue(reader.marks.values().stream().allMatch(mark -> mark == UnitRecord.FULL));
            cache.put(1, 1);
            assertEquals(1, cache.get(1));
        }
    }

    @Test
    void refusesNodesWithoutTheJar() {
        try (TestCluster cluster = new TestCluster(directory).start(1)) {
            cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));

            Ignite without = cluster.start(cluster.withoutJar("without"));
            String message = assertThrows(
                            IgniteException.class, () -> cluster.service().start("c", FAST, new String[] {"a"}))
                    .getMessage();

            assertTrue(message.contains("BACKLOG/MISSING_JAR: ") && message.contains("without"), message);
            cluster.kill(without);
            TestCluster.await(
                    () -> cluster.node(0).cluster().forServers().nodes().size() == 1, "the end of the node");
            cluster.service().start("c", FAST, new String[] {"a"});
            assertThrows(IgniteException.class, () -> cluster.start(cluster.withoutJar("again")));
        }
    }

    @Test
    void topologyIsThatOfTheServersAlone() {
        try (TestCluster cluster = new TestCluster(directory.resolve("servers")).start(2)) {
            cluster.node(0).createCache(TestCluster.cache("a", 1));
            cluster.service().start("c", FAST, new String[] {"a"});

            int two = topology(cluster);

            Ignite client = cluster.start(cluster.configuration("client").setClientMode(true));
            TestCluster.await(() -> topology(cluster) == two, "the client's exchange");
            client.close();
            TestCluster.await(() -> topology(cluster) == two, "the client's exchange");
            assertEquals(2, servers(cluster));

            Ignite third = cluster.startNode("third");

            assertNotEquals(two, topology(cluster));
            assertEquals(3, servers(cluster));
            cluster.kill(third);
            TestCluster.await(() -> servers(cluster) == 2, "two servers");
            assertNotEquals(two, topology(cluster));
        }
    }

    private static int topology(TestCluster cluster) {
        return Chunk.buffer(cluster.service().read("c", new byte[0], 1)).getInt(12);
    }

    private static int servers(TestCluster cluster) {
        return ((Object[]) cluster.service().status("c").get("servers")).length;
    }
}
