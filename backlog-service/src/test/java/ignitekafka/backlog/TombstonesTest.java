package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import javax.cache.Cache;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.store.CacheStoreAdapter;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.client.thin.TcpClientCache;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersion;
import org.apache.ignite.internal.util.typedef.T3;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Versions of removed keys: who has them when nodes die, and when they are in the side cache. */
class TombstonesTest {
    private static final int KEYS = 200;

    @TempDir
    Path directory;

    @Test
    void surviveTheNodeThatRemovedAndAreBehindABarrier() {
        Map<String, String> configuration = Map.of(ActiveActive.CLUSTER, "1", ActiveActive.CACHES, "atomic,through,tx");

        try (TestCluster cluster =
                new TestCluster(directory).properties(configuration).start(2)) {
            for (String cache : List.of("atomic", "tx"))
                cluster.node(0)
                        .createCache(TestCluster.cache(cache, 1)
                                .setAtomicityMode(
                                        cache.equals("tx")
                                                ? CacheAtomicityMode.TRANSACTIONAL
                                                : CacheAtomicityMode.ATOMIC));

            cluster.service().start("c", TestCluster.FAST, new String[] {"atomic", "tx"});
            aBarrierStoresThem(cluster);
            aReadThatLoadsIsNamed(cluster);

            for (String cache : List.of("atomic", "tx")) removeAll(cluster.node(0), cache);

            cluster.kill(cluster.node(0));

            for (String cache : List.of("atomic", "tx")) anOlderWriteIsRefused(cluster, cache);
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
            GridCacheVersion older = new GridCacheVersion(0, 5, 0, 2);

            IntStream.range(0, KEYS).forEach(key -> target.putAllConflict(Map.of(key, new T3<>("older", older, 0L))));
        }

        assertEquals(0, cluster.node(0).cache(cache).size(), cache);
        assertTrue((Long) cluster.service().activeActive(cache).get("foreignRefused") >= KEYS, cache);
    }
}
