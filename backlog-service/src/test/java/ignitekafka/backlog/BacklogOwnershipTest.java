package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.TreeMap;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.services.Service;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Caches and services of users and of other connectors are neither used nor removed. */
class BacklogOwnershipTest extends SharedClusterTest {
    private static final String SECRET = "a-secret-of-more-than-22-characters";

    private static final Map<String, String> ORDERS = settings("orders");

    @AfterEach
    void cancelUsersService() {
        cluster.node(0).services().cancel("orders-service-eu");
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
    void aUsersCacheCreatedLaterUnderTheNameStays() throws Exception {
        cache("a");
        service().start("eu", ORDERS, new String[] {"a"});
        cluster.node(0).destroyCache("orders-eu");

        IgniteCache<Object, Object> orders = cache("orders-eu");

        orders.put(1, 1);

        for (int i = 0; i < 100; i++) cache("a").put(i, i); // captured, but not written into the user's cache

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
    void theMarkDoesNotChangeTheAffinity() {
        cache("a");
        service().start("eu", ORDERS, new String[] {"a"});

        Affinity<Object> affinity = cluster.node(0).affinity("orders-eu");

        for (int partition = 0; partition < 8; partition++)
            assertEquals(partition, affinity.partition(new Unit("a".hashCode(), partition, 7).record()));
    }

    @Test
    void aBacklogOfVersion010IsAdopted() throws Exception {
        cache("a").put(1, 1);

        Connector connector = ofVersion010("eu");

        assertCode("FORBIDDEN", () -> service().start("eu", ORDERS, new String[] {"a"}, SECRET));

        Map<String, Object> started = service().start("eu", ORDERS, new String[] {"a"});

        assertEquals(connector.captureId(), started.get("captureId")); // the same capture: nothing is lost
        cache("a").put(2, 2);
        assertEquals(1, new TestReader(cluster.node(0), "eu", "a").readOnce(afterBarrier("eu"), 1 << 20, false));
        assertEquals("orders-eu", service().stop("eu", true).get("cache"));
    }

    @Test
    void aBacklogOfVersion010OfAnotherCaptureIsRefused() {
        cache("a");
        ofVersion010("eu");
        plugin().registry().remove("eu");

        String refused = assertCode("FOREIGN_CACHE", () -> service().start("eu", ORDERS, new String[] {"a"}));

        assertTrue(refused.contains("0.1.0"), refused);
        assertEquals(1, cluster.node(0).cache("orders-eu").size(CachePeekMode.PRIMARY));
    }

    /** Creates what version 0.1.0 leaves: a cache without mark, an entry with the capture id, a registry record. */
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

    /** A service of another program. */
    private static final class UsersService implements Service {
        private static final long serialVersionUID = 1;
    }
}
