package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.ignite.Ignite;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.query.ContinuousQuery;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.internal.client.thin.TcpClientCache;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersion;
import org.apache.ignite.internal.util.typedef.T3;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Continuous queries of programs hear the updates that follow refused writes of their partitions. */
class RefusedWritesAreHeardTest {
    private static final List<String> CACHES = List.of("a", "tx");
    private static final int KEYS = 40;
    private static final Set<Object> ABSENT =
            IntStream.range(KEYS, 2 * KEYS).boxed().collect(Collectors.toSet());

    @TempDir
    Path directory;

    /** Events of each query, by who registered it and the cache. */
    private final Map<String, Queue<Object>> heard = new HashMap<>();

    @Test
    void updatesAfterRefusedWritesAreHeard() throws Exception {
        try (TestCluster cluster = new TestCluster(directory)
                .properties(Map.of(ActiveActive.CLUSTER, "1", ActiveActive.CACHES, String.join(",", CACHES)))
                .start(2)) {
            for (String cache : CACHES) create(cluster, cache);

            try (IgniteClient thin = cluster.thinClient()) {
                Ignite client = cluster.start(cluster.configuration("client").setClientMode(true));

                for (String cache : CACHES) {
                    for (int key = 0; key < KEYS; key++) client.cache(cache).put(key, "newer than what is refused");

                    client.cache(cache).query(query("client " + cache));
                    cluster.node(0).cache(cache).query(query("node " + cache));
                    thin.cache(cache).query(query("thin " + cache));
                }

                for (int round = 1; round <= 3; round++) {
                    for (String cache : CACHES) {
                        refuseFenced(cluster, cache, round);
                        refuseVersions(thin, cache);
                        cluster.node(0).cache(cache).removeAll(ABSENT);

                        for (int key = 0; key < KEYS; key++)
                            cluster.node(key % 2).cache(cache).put(key, "stored");
                    }

                    int events = round * KEYS;

                    for (Map.Entry<String, Queue<Object>> one : heard.entrySet())
                        TestCluster.await(() -> one.getValue().size() >= events, "events of the " + one.getKey());
                }
            }
        }

        for (Map.Entry<String, Queue<Object>> one : heard.entrySet())
            assertEquals(Collections.nCopies(3 * KEYS, "stored"), List.copyOf(one.getValue()), one.getKey());
    }

    private static void refuseFenced(TestCluster cluster, String cache, int round) {
        String[] caches = {cache};
        Map<Object, Object> entries = new HashMap<>();

        for (int key = 0; key < KEYS; key++) entries.put(key, round % 2 == 0 ? null : "refused");

        byte[] request = FencedWrites.request(cluster.node(0), entries);

        cluster.service().raise(cache, FencedWrites.writer(round + 1, 0, 0), caches);
        assertThrows(BacklogException.class, () -> cluster.service()
                .write(cache, FencedWrites.writer(round, 0, 0), cache, false, request));
    }

    @SuppressWarnings({"rawtypes", "unchecked"})
    private static void refuseVersions(IgniteClient client, String cache) {
        TcpClientCache<Object, Object> target = (TcpClientCache<Object, Object>) client.<Object, Object>cache(cache);
        Map<Object, T3<?, GridCacheVersion, Long>> puts = new HashMap<>();
        Map<Object, GridCacheVersion> removals = new HashMap<>();

        for (int key = 0; key < KEYS; key++) {
            GridCacheVersion version = new GridCacheVersion(0, 1, 0, 2);

            puts.put(key, new T3<>("refused", version, 0L));
            removals.put(key, version);
        }

        target.putAllConflict((Map) puts);
        target.removeAllConflict(removals);
    }

    private ContinuousQuery<Object, Object> query(String name) {
        Queue<Object> events = new ConcurrentLinkedQueue<>();
        ContinuousQuery<Object, Object> query = new ContinuousQuery<>();

        heard.put(name, events);
        query.setLocalListener(all -> all.forEach(event -> events.add(event.getValue())));

        return query;
    }

    private static void create(TestCluster cluster, String cache) {
        cluster.node(0)
                .createCache(TestCluster.cache(cache, 1)
                        .setAtomicityMode(
                                cache.equals("tx") ? CacheAtomicityMode.TRANSACTIONAL : CacheAtomicityMode.ATOMIC));
    }
}
