package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.internal.IgniteEx;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Nodes that die, join, or lack the jar. */
class NodeFailureTest {
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

            cluster.service().start("c", TestCluster.FAST, new String[] {"a"});

            TestReader reader = new TestReader(cluster.node(0), "c", "a");
            AtomicBoolean stop = new AtomicBoolean();
            AtomicInteger value = new AtomicInteger();
            List<CompletableFuture<Void>> writers = new ArrayList<>();

            for (int writer = 0; writer < 2; writer++) writers.add(write(cache, writer, value, stop));

            reader.readOnce(cluster.service(), 1 << 20, true);
            cluster.kill(otherRegisteringNode(cluster));
            readOften(reader, cluster, 20);
            cluster.startNode("node-3");
            readOften(reader, cluster, 20);
            stop.set(true);
            writers.forEach(CompletableFuture::join);
            reader.drain(cluster.service());

            assertTrue(value.get() > 200, "written: " + value);
            assertEquals(TestCluster.content(cache), reader.state);
            assertEquals(0, reader.stepsBack);
            assertTrue(reader.marks.isEmpty());
            TestCluster.await(
                    () -> cluster.service().status("c").get("registered").equals(2), "two registrations");
        }
    }

    private static Ignite otherRegisteringNode(TestCluster cluster) {
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

    private static void readOften(TestReader reader, TestCluster cluster, int times) throws Exception {
        for (int i = 0; i < times; i++) {
            reader.readOnce(cluster.service(), 1 << 20, true);
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
                    // The node died; the next put uses another.
                }
            }
        });
    }

    @Test
    void anyUnitMayHaveChangedAfterANodeJoinsOrLeaves() throws Exception {
        try (TestCluster cluster = new TestCluster(directory).start(2)) {
            cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));
            cluster.service().start("c", TestCluster.FAST, new String[] {"a"});

            TestReader reader = new TestReader(cluster.node(0), "c", "a");

            awaitNothing(reader, cluster);
            cluster.startNode("node-2");
            assertNull(reader.changed(cluster.service()));
            awaitNothing(reader, cluster);
            cluster.kill(cluster.nodes().get(1));
            assertNull(reader.changed(cluster.service()));
        }
    }

    /** Waits for the end of rebalancing, when the owners of partitions change once more. */
    private static void awaitNothing(TestReader reader, TestCluster cluster) {
        TestCluster.await(() -> Set.of().equals(reader.changed(cluster.service())), "an answer without changed units");
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
    void refusesNodesWithoutTheJar() {
        try (TestCluster cluster = new TestCluster(directory).start(1)) {
            cluster.node(0).getOrCreateCache(TestCluster.cache("a", 1));

            Ignite without = cluster.start(cluster.withoutJar("without"));
            String message = assertThrows(IgniteException.class, () -> cluster.service()
                            .start("c", TestCluster.FAST, new String[] {"a"}))
                    .getMessage();

            assertTrue(message.contains("BACKLOG/MISSING_JAR: ") && message.contains("without"), message);
            cluster.kill(without);
            TestCluster.await(
                    () -> cluster.node(0).cluster().forServers().nodes().size() == 1, "the node to leave");
            cluster.service().start("c", TestCluster.FAST, new String[] {"a"});
            assertThrows(IgniteException.class, () -> cluster.start(cluster.withoutJar("again")));
        }
    }

    @Test
    void topologyCountsServersOnly() {
        try (TestCluster cluster = new TestCluster(directory.resolve("servers")).start(2)) {
            cluster.node(0).createCache(TestCluster.cache("a", 1));
            cluster.service().start("c", TestCluster.FAST, new String[] {"a"});

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
