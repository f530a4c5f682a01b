package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.cache.Cache;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.query.ContinuousQuery;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.store.CacheStoreAdapter;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.client.thin.TcpClientCache;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersion;
import org.apache.ignite.internal.util.typedef.T3;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Versions of removed keys: who has them when nodes die, when they are in the side cache, and that they are captured.
 */
class TombstonesTest {
    private static final int KEYS = 200;

    /** Key from which on no cache has an entry. */
    private static final int ABSENT = 1_000;

    /** A capture that writes at barriers only. */
    private static final Map<String, String> SLOW = Map.of(ConnectorSettings.FLUSH_FREQUENCY, "60000");

    private static final GridCacheVersion FOREIGN = new GridCacheVersion(0, 5, 0, 2);

    @TempDir
    Path directory;

    @Test
    void surviveTheNodeThatRemovedAndAreBehindABarrier() throws Exception {
        Map<String, String> configuration = Map.of(ActiveActive.CLUSTER, "1", ActiveActive.CACHES, "atomic,through,tx");

        try (TestCluster cluster =
                new TestCluster(directory).properties(configuration).start(2)) {
            for (String cache : List.of("atomic", "tx"))
                cluster.node(0)
                        .createCache(TestCluster.cache(cache, 1)
                                .setAtomicityMode(
                                        cache.equals("tx")
                                                ? CacheAtomicityMode.TRANSACTIONAL
                                                : CacheAtomicityMode.ATOMIC)
                                .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC));

            cluster.service().start("c", TestCluster.FAST, new String[] {"atomic", "tx"});
            cluster.service().start("slow", SLOW, new String[] {"atomic", "tx"});
            aBarrierStoresThem(cluster);
            aChangeIsReadByAnotherNode(cluster);
            aReadThatLoadsIsNamed(cluster);

            for (String cache : List.of("atomic", "tx")) {
                removeAll(cluster.node(0), cache);
                removeAbsentTwice(cluster, cache);
            }

            cluster.kill(cluster.node(0));

            for (String cache : List.of("atomic", "tx")) {
                anOlderWriteIsRefused(cluster, cache);
                removalsOfAbsentKeysAreCapturedOnce(cluster, cache);
            }
        }
    }

    private static void aBarrierStoresThem(TestCluster cluster) {
        removeAll(cluster.node(0), "atomic");
        cluster.service().barrier("c");
        assertEquals(KEYS, cluster.node(0).cache(Tombstones.PREFIX + "atomic").size());

        for (Ignite node : cluster.nodes())
            assertEquals(
                    0,
                    BacklogPlugin.of(((IgniteEx) node).context())
                            .shared()
                            .get("atomic")
                            .tombstones()
                            .waiting(),
                    node.name());
    }

    /** A node whose side cache has a key's entry on another node. */
    private static void aChangeIsReadByAnotherNode(TestCluster cluster) {
        TombstoneChange change = new TombstoneChange(EntryVersion.NONE, "", 1);

        for (Ignite node : cluster.nodes())
            for (int key = 0; key < KEYS; key++)
                node.<Object, byte[]>cache(Tombstones.PREFIX + "atomic").invoke(key, change);

        assertEquals(KEYS, cluster.node(0).cache(Tombstones.PREFIX + "atomic").size());
    }

    private static void aReadThatLoadsIsNamed(TestCluster cluster) {
        assertArrayEquals(
                new String[] {"atomic", "through", "tx"}, cluster.service().activeActiveCaches());
        assertEquals(0, cluster.service().activeActive("atomic").get("readsThrough"));
        cluster.node(0)
                .createCache(
                        TestCluster.cache("through", 1).setReadThrough(true).setCacheStoreFactory(Store::new));
        assertEquals(1, cluster.service().activeActive("through").get("readsThrough"));
        cluster.node(0).destroyCache("through");
    }

    /** A store without entries. */
    static final class Store extends CacheStoreAdapter<Object, Object> {
        @Override
        public Object load(Object key) {
            return null;
        }

        @Override
        public void write(Cache.Entry<?, ?> entry) {
            // Reads alone matter.
        }

        @Override
        public void delete(Object key) {
            // Reads alone matter.
        }
    }

    private static void removeAll(Ignite node, String cache) {
        Map<Integer, String> entries = new TreeMap<>();

        IntStream.range(0, KEYS).forEach(key -> entries.put(key, "present"));
        node.cache(cache).putAll(entries);
        node.cache(cache).removeAll(entries.keySet());
    }

    private static void anOlderWriteIsRefused(TestCluster cluster, String cache) {
        try (IgniteClient client = cluster.thinClient()) {
            TcpClientCache<Object, Object> target =
                    (TcpClientCache<Object, Object>) client.<Object, Object>cache(cache);

            IntStream.range(0, KEYS).forEach(key -> target.putAllConflict(Map.of(key, new T3<>("older", FOREIGN, 0L))));
        }

        assertEquals(0, cluster.node(0).cache(cache).size(), cache);
        assertTrue((Long) cluster.service().activeActive(cache).get("foreignRefused") >= KEYS, cache);
    }

    /** Twice, as a sink does that begins again; a query of a program hears of nothing. */
    private static void removeAbsentTwice(TestCluster cluster, String cache) {
        ContinuousQuery<Object, Object> query = new ContinuousQuery<>();
        AtomicInteger heard = new AtomicInteger();

        query.setLocalListener(events -> events.forEach(event -> heard.incrementAndGet()));

        QueryCursor<?> cursor = cluster.node(0).cache(cache).query(query);

        removeAbsent(cluster, cache);
        cluster.node(0).cache(cache).put(ABSENT - 1, "heard");
        TestCluster.await(() -> heard.get() > 0, "the event of a put");
        assertEquals(1, heard.get(), cache);
        cursor.close();
        cluster.node(0).cache(cache).remove(ABSENT - 1);
        removeAbsent(cluster, cache);
    }

    private static void removeAbsent(TestCluster cluster, String cache) {
        try (IgniteClient client = cluster.thinClient()) {
            TcpClientCache<Object, Object> target =
                    (TcpClientCache<Object, Object>) client.<Object, Object>cache(cache);

            IntStream.range(ABSENT, ABSENT + KEYS).forEach(key -> target.removeAllConflict(Map.of(key, FOREIGN)));
        }
    }

    /** Also those whose primary node died before it wrote any of them. */
    private static void removalsOfAbsentKeysAreCapturedOnce(TestCluster cluster, String cache) throws Exception {
        TestReader reader = new TestReader(cluster.node(0), "slow", cache);

        reader.drain(cluster.service());

        Map<Object, Long> captured = reader.versioned.stream()
                .filter(change -> change.version.equals(EntryVersion.of(FOREIGN)) && change.value == null)
                .collect(Collectors.groupingBy(change -> change.key, TreeMap::new, Collectors.counting()));

        assertEquals(
                IntStream.range(ABSENT, ABSENT + KEYS).boxed().collect(Collectors.toMap(key -> key, key -> 1L)),
                captured,
                cache);
    }
}
