package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.client.ClientException;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.services.Service;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whose caches, services and captures are touched: the connector's own, and nobody else's. */
class BacklogOwnershipTest {
    private static final String SECRET = "a-secret-of-more-than-22-characters";
    private static final String OTHER = "another-secret-of-many-characters";
    private static final Map<String, String> ORDERS = settings("orders");

    private static TestCluster cluster;

    @BeforeAll
    static void start(@TempDir Path directory) {
        cluster = new TestCluster(directory).start(2);
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    @AfterEach
    void clean() {
        for (String connector : service().connectors()) service().forceStop(connector, true);

        cluster.node(0).services().cancel("orders-service-eu");
        cluster.node(0).destroyCaches(cluster.node(0).cacheNames());
    }

    private static Map<String, String> settings(String base) {
        return Map.of(
                ConnectorSettings.CACHE_NAME,
                base,
                ConnectorSettings.SERVICE_NAME,
                base + "-service",
                ConnectorSettings.FLUSH_FREQUENCY,
                "20");
    }

    private static BacklogService service() {
        return cluster.service();
    }

    private static IgniteCache<Object, Object> cache(String name) {
        return cluster.node(0).getOrCreateCache(TestCluster.cache(name, 1));
    }

    @Test
    void aUsersCacheOfTheNameIsRefusedAndStays() {
        cache("a");

        IgniteCache<Object, Object> orders = cache("orders-eu");

        for (int i = 0; i < 100; i++) orders.put(i, i);

        String refused = assertCode("FOREIGN_CACHE", () -> service().start("eu", ORDERS, new String[] {"a"}, SECRET));

        assertTrue(refused.contains("'orders-eu'") && refused.contains(ConnectorSettings.CACHE_NAME), refused);
        assertEquals(0, service().connectors().length);
        assertNull(service().stop("eu", true, SECRET).get("cache"));
        assertEquals(100, orders.size(CachePeekMode.PRIMARY));
    }

    @Test
    void aUsersCacheThatTookTheNameLaterStays() throws Exception {
        cache("a");
        service().start("eu", ORDERS, new String[] {"a"});
        cluster.node(0).destroyCache("orders-eu");

        IgniteCache<Object, Object> orders = cache("orders-eu");

        orders.put(1, 1);

        for (int i = 0; i < 100; i++) cache("a").put(i, i); // captured, and never written into the user's cache

        assertCode("FOREIGN_CACHE", () -> service().units("eu"));
        assertCode("FOREIGN_CACHE", () -> service().start("eu", ORDERS, new String[] {"a"}));

        Map<String, Object> removed = service().stop("eu", true);

        assertEquals("orders-service-eu", removed.get("service"));
        assertNull(removed.get("cache"));
        assertEquals(1, orders.size(CachePeekMode.PRIMARY));
    }

    @Test
    void connectorsWhoseNamesGiveOneCacheDoNotShareIt() {
        cache("a");
        service().start("a-b", settings("x"), new String[] {"a"});

        String refused = assertCode("FOREIGN_CACHE", () -> service().start("b", settings("x-a"), new String[] {"a"}));

        assertTrue(refused.contains("connector 'a-b'"), refused);
        assertEquals(1, service().connectors().length);

        Map<String, String> otherCache = new TreeMap<>(settings("x-a"));

        otherCache.put(ConnectorSettings.CACHE_NAME, "y");
        otherCache.put(ConnectorSettings.SERVICE_NAME, "x-service-a");
        refused = assertCode("FOREIGN_SERVICE", () -> service().start("b", otherCache, new String[] {"a"}));
        assertTrue(refused.contains("connector 'a-b'"), refused);
        assertEquals(1, service().connectors().length);
        assertEquals(2, service().status("a-b").get("registered"));
    }

    @Test
    void aUsersServiceOfTheNameIsRefusedAndStays() {
        cache("a");
        cluster.node(0).services().deployClusterSingleton("orders-service-eu", new UsersService());

        String refused = assertCode("FOREIGN_SERVICE", () -> service().start("eu", ORDERS, new String[] {"a"}));

        assertTrue(
                refused.contains("'orders-service-eu'") && refused.contains(ConnectorSettings.SERVICE_NAME), refused);
        assertEquals(0, service().connectors().length);
        assertTrue(cluster.node(0).services().serviceDescriptors().stream()
                .anyMatch(one -> one.name().equals("orders-service-eu")));
    }

    @Test
    void aBacklogIsNotCaptured() {
        cache("a");
        service().start("one", ORDERS, new String[] {"a"});
        assertCode("MALFORMED", () -> service().start("two", ORDERS, new String[] {"orders-one"}));
    }

    @Test
    void entriesStayWithTheirUnitsWhateverTheMark() {
        cache("a");
        service().start("eu", ORDERS, new String[] {"a"});

        Affinity<Object> affinity = cluster.node(0).affinity("orders-eu");

        for (int partition = 0; partition < 8; partition++)
            assertEquals(partition, affinity.partition(new Unit("a".hashCode(), partition, 7).record()));
    }

    @Test
    void theMarkAndTheSecretOutliveARestartOfTheWholeCluster(@TempDir Path directory) throws Exception {
        try (TestCluster persistent = new TestCluster(directory).persistent().start(1)) {
            persistent.node(0).createCache(TestCluster.cache("a", 0));
            persistent.service().start("c", ORDERS, new String[] {"a"}, SECRET);
            persistent.node(0).cache("a").put(1, 1);
            persistent.service().barrier("c");
            persistent.stop();
            persistent.start(1);

            GridKernalContext ctx = ((IgniteEx) persistent.node(0)).context();

            assertTrue(BacklogCache.isMarked(ctx, "orders-c"));
            assertCode("FORBIDDEN", () -> persistent.service().stop("c", true));
            persistent.service().start("c", ORDERS, new String[] {"a"}, SECRET);
            assertEquals(1, new TestReader(persistent.node(0), "c", "a").pass(persistent.service(), 1 << 20, false));
            assertEquals(
                    "orders-c", persistent.service().stop("c", true, SECRET).get("cache"));
        }
    }

    @Test
    void aBacklogOfVersion010GoesOn() throws Exception {
        cache("a").put(1, 1);

        Connector connector = ofVersion010("eu");
        Map<String, Object> started = service().start("eu", ORDERS, new String[] {"a"}, SECRET);

        assertEquals(connector.captureId(), started.get("captureId")); // not begun anew: nothing is lost
        cache("a").put(2, 2);
        assertEquals(1, new TestReader(cluster.node(0), "eu", "a").pass(barrier("eu"), 1 << 20, false));
        assertCode("FORBIDDEN", () -> service().stop("eu", true));
        assertEquals("orders-eu", service().stop("eu", true, SECRET).get("cache"));
    }

    @Test
    void aCacheLikeThatOfVersion010OfAnotherCaptureIsRefused() {
        cache("a");
        ofVersion010("eu");
        service();
        plugin().registry().remove("eu");

        String refused = assertCode("FOREIGN_CACHE", () -> service().start("eu", ORDERS, new String[] {"a"}));

        assertTrue(refused.contains("0.1.0"), refused);
        assertEquals(1, cluster.node(0).cache("orders-eu").size(CachePeekMode.PRIMARY));
    }

    /** What version 0.1.0 leaves: a cache without mark, an entry with the capture's id, a record in the registry. */
    private static Connector ofVersion010(String name) {
        Connector connector =
                Connector.first(new ConnectorSettings(name, ORDERS)).begin();
        IgniteCache<Object, Object> old = cluster.node(0)
                .createCache(new CacheConfiguration<>(connector.settings.cacheName)
                        .setAtomicityMode(CacheAtomicityMode.ATOMIC)
                        .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC)
                        .setAffinity(
                                new RendezvousAffinityFunction(false, RendezvousAffinityFunction.DFLT_PARTITION_COUNT))
                        .setBackups(1)
                        .setDataRegionName(TestCluster.REGION));

        old.put(
                BacklogKey.CAPTURE,
                Chunk.buffer(new byte[8]).putLong(connector.captureId()).array());

        return plugin().registry().add(connector);
    }

    private static BacklogPlugin plugin() {
        return BacklogPlugin.of(((IgniteEx) cluster.node(0)).context());
    }

    private static BacklogService barrier(String connector) {
        service().barrier(connector);

        return service();
    }

    @Test
    void callsThatWriteNeedTheSecret() throws Exception {
        cache("a");
        service().start("c", ORDERS, new String[] {"a"}, SECRET);
        cache("a").put(1, 1);

        TestReader reader = new TestReader(cluster.node(0), "c", "a");
        byte[] unit = TestReader.bytes(reader.units(service()));

        assertEquals(1, reader.pass(barrier("c"), 1 << 20, false));

        for (String wrong : new String[] {null, OTHER}) {
            assertCode("FORBIDDEN", () -> service().start("c", ORDERS, new String[] {"a"}, wrong));
            assertCode("FORBIDDEN", () -> service().update("c", new String[0], wrong));
            assertCode("FORBIDDEN", () -> service().acknowledge("c", new byte[0], wrong));
            assertCode("FORBIDDEN", () -> service().clear("c", new byte[0], wrong));
            assertCode("FORBIDDEN", () -> service().mark("c", unit, wrong));
            assertCode("FORBIDDEN", () -> service().stop("c", true, wrong));
        }

        try (IgniteClient client = cluster.thinClient()) {
            BacklogService thin = client.services().serviceProxy(BacklogService.NAME, BacklogService.class);

            assertEquals(BacklogService.CONTRACT, thin.version());
            assertTrue(assertThrows(ClientException.class, () -> thin.stop("c", true))
                    .getMessage()
                    .contains("BACKLOG/FORBIDDEN: "));
            thin.mark("c", unit, SECRET);
        }

        assertEquals(2, service().start("c", ORDERS, new String[] {"a"}, SECRET).get("registered"));
        assertEquals("orders-c", service().stop("c", true, SECRET).get("cache"));
    }

    @Test
    void theClusterDoesNotKeepTheSecret() {
        cache("a");
        service().start("c", ORDERS, new String[] {"a"}, SECRET);
        assertTrue(!plugin().registry().get("c").asMap().toString().contains(SECRET));
        assertTrue(!String.valueOf(service().status("c"))
                .contains(plugin().registry().get("c").secretDigest()));
    }

    @Test
    void aCaptureWithoutSecretTakesTheFirstOne() {
        cache("a");
        service().start("c", ORDERS, new String[] {"a"});
        service().mark("c", new byte[0]);
        service().start("c", ORDERS, new String[] {"a"}, SECRET);
        assertCode("FORBIDDEN", () -> service().mark("c", new byte[0]));
        assertCode("FORBIDDEN", () -> service().start("c", ORDERS, new String[] {"a"}, OTHER));
        assertCode("MALFORMED", () -> service().start("d", ORDERS, new String[] {"a"}, "short"));
    }

    @Test
    void anAdministratorEndsACaptureWithoutItsSecret() {
        cache("a");
        service().start("c", ORDERS, new String[] {"a"}, SECRET);
        assertEquals("orders-c", service().forceStop("c", true).get("cache"));
        assertEquals(0, service().connectors().length);
    }

    @Test
    void requestsAreBounded() {
        cache("a");
        service().start("c", ORDERS, new String[] {"a"});

        byte[] large = new byte[Limits.bytes() + Unit.BYTES];

        assertTrue(Limits.bytes() <= 64 << 20
                && Limits.bytes() <= Runtime.getRuntime().maxMemory() / 16);
        assertCode("MALFORMED", () -> service().read("c", large, 1));
        assertCode("MALFORMED", () -> service().acknowledge("c", large));
        assertCode("MALFORMED", () -> service().lookup("c", "a", large));
        assertCode("MALFORMED", () -> service().changed("c", large));
    }

    private static String assertCode(String code, Runnable call) {
        Throwable error = assertThrows(RuntimeException.class, call::run);

        assertTrue(error.getMessage().contains("BACKLOG/" + code + ": "), error.getMessage());

        return error.getMessage();
    }

    /** Another program's. */
    private static final class UsersService implements Service {
        private static final long serialVersionUID = 1;
    }
}
