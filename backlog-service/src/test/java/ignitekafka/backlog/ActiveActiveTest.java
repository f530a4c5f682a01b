package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ignitekafka.backlog.TestReader.Versioned;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.client.thin.TcpClientCache;
import org.apache.ignite.internal.processors.cache.CacheObject;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.KeyCacheObject;
import org.apache.ignite.internal.processors.cache.persistence.CacheDataRow;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersion;
import org.apache.ignite.internal.util.typedef.T3;
import org.apache.ignite.internal.util.typedef.X;
import org.apache.ignite.transactions.Transaction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Two clusters that write the same caches, each in the other's place: changes of one are put into the other with their
 * versions, late, in part and again. One is in memory, with copies; the other is persistent, and its clock is ahead.
 */
class ActiveActiveTest {
    private static final List<String> CACHES = List.of("atomic", "tx", "ranked-atomic", "ranked-tx");
    private static final int NUMBERS = 8;

    /** What decides, written anew: numbers of values, then orders, then clusters. */
    private static final Comparator<EntryVersion> RULE = Comparator.<EntryVersion>comparingLong(one -> one.rank)
            .thenComparingLong(one -> one.order)
            .thenComparingInt(one -> one.cluster);

    private static final int KEYS = 20;
    private static final long AHEAD_MS = 300_000;

    @TempDir
    Path directory;

    private TestCluster one;
    private TestCluster two;
    private final Map<String, Side> sides = new HashMap<>();

    /** All writes that any cluster stored for itself, by cache and key. */
    private final Map<List<Object>, List<Versioned>> written = new HashMap<>();

    /** Numbers of the values that programs removed, by cluster, cache and key. */
    private final Map<List<Object>, Set<Integer>> removed = new HashMap<>();

    @BeforeEach
    void start() {
        one = new TestCluster(directory.resolve("one"))
                .properties(configuration(1))
                .start(2);
        two = new TestCluster(directory.resolve("two"))
                .persistent()
                .properties(configuration(2))
                .start(1);
        BacklogPlugin.of(context(two.node(0))).clock().raise(VersionClock.order(System.currentTimeMillis() + AHEAD_MS));

        for (TestCluster cluster : List.of(one, two)) {
            create(cluster);
            capture(cluster);
        }

        for (String cache : CACHES) {
            sides.put(cache + 1, new Side(one, two, cache, 1));
            sides.put(cache + 2, new Side(two, one, cache, 2));
        }
    }

    @AfterEach
    void stop() {
        one.close();
        two.close();
    }

    @Test
    void clustersConvergeToTheGreatestVersionOfEachKey() throws Exception {
        for (String cache : CACHES) {
            if (isRanked(cache)) aLesserNumberLosesWhoeverWritesIt(cache);
            else aLocalWriteIsAboveAForeignOneOfAFasterClock(cache);
        }

        long seed = new Random().nextLong();
        Random random = new Random(seed);

        for (int round = 0; round < (TestCluster.LONG_FORM ? 20 : 1); round++) {
            write(random, 250);
            restartCopy();
            write(random, 150);
            restartAll();
            write(random, 150);
            settle(sides.values());

            for (Side side : sides.values()) side.allAgain(random);

            for (String cache : CACHES) assertConverged(cache, "seed " + seed + ", round " + round);
        }

        for (String cache : CACHES) {
            Map<String, Object> state = one.service().activeActive(cache);

            assertEquals(1, state.get("cluster"));
            assertTrue((Long) state.get("foreignRefused") > 0, cache + " " + state);
            assertEquals(isRanked(cache), (Long) state.get("localRefused") > 0, cache + " " + state);
            assertEquals(0L, state.get("tombstonesDropped"), cache);
        }

        assertEquals(Map.of("cluster", 0), one.service().activeActive("kafka-connect-backlog-c"));
        aNodeThatDiffersIsRefused();
        theSideCacheEndsWithTheCache();
    }

    private void aNodeThatDiffersIsRefused() {
        IgniteConfiguration configuration = one.properties(configuration(3)).configuration("other");
        IgniteException refused = assertThrows(IgniteException.class, () -> one.start(configuration));

        assertTrue(X.getFullStackTrace(refused).contains(ActiveActive.CLUSTER), () -> X.getFullStackTrace(refused));
    }

    private void theSideCacheEndsWithTheCache() {
        String side = Tombstones.PREFIX + "atomic";

        assertTrue(one.node(0).cacheNames().contains(side));
        one.node(0).destroyCache("atomic");
        TestCluster.await(() -> !one.node(0).cacheNames().contains(side), "the end of the side cache");
        assertTrue(one.node(0).cacheNames().contains(Tombstones.PREFIX + "tx"));
    }

    private void aLocalWriteIsAboveAForeignOneOfAFasterClock(String cache) throws Exception {
        two.node(0).cache(cache).put(0, "foreign");
        side(cache, 2).read();
        side(cache, 2).deliver(100);
        assertEquals("foreign", one.node(0).cache(cache).get(0));
        one.node(0).cache(cache).put(0, "local");
        side(cache, 1).read();
        side(cache, 1).deliver(100);
        assertEquals("local", one.node(0).cache(cache).get(0));
        assertEquals("local", two.node(0).cache(cache).get(0));
    }

    private void aLesserNumberLosesWhoeverWritesIt(String cache) throws Exception {
        List<Side> both = List.of(side(cache, 1), side(cache, 2));

        put(two, cache, 0, "foreign", 5);
        settle(both);
        put(one, cache, 0, "local", 4); // its clock is behind, but it has seen the other's write
        assertEquals("foreign", TestValue.text(get(one, cache, 0)), cache);
        remove(one, cache, 0);
        settle(both);
        put(two, cache, 0, "after the removal", 4);
        put(one, cache, 0, "after the removal", 4);
        settle(both);
        assertNull(get(one, cache, 0), cache);
        assertNull(get(two, cache, 0), cache);
        put(two, cache, 0, "equal", 5);
        settle(both);
        assertEquals("equal", TestValue.text(get(one, cache, 0)), cache);
    }

    private void write(Random random, int steps) throws Exception {
        for (int step = 0; step < steps; step++) {
            String cache = CACHES.get(random.nextInt(CACHES.size()));
            TestCluster cluster = random.nextBoolean() ? one : two;
            Side side = side(cache, 1 + random.nextInt(2));

            switch (random.nextInt(8)) {
                case 0:
                    side.read();
                    side.deliver(random.nextInt(20));
                    break;

                case 1:
                    side.again(random);
                    break;

                case 2:
                    transaction(cluster, random.nextBoolean() ? "tx" : "ranked-tx", random);
                    break;

                case 3:
                case 4:
                    remove(cluster, cache, random.nextInt(KEYS));
                    break;

                default:
                    put(cluster, cache, random.nextInt(KEYS), "value " + random.nextInt(), random.nextInt(NUMBERS));
            }
        }
    }

    private void transaction(TestCluster cluster, String cache, Random random) {
        try (Transaction tx = cluster.node(0).transactions().txStart()) {
            int low = random.nextInt(KEYS - 1);

            remove(cluster, cache, low);
            put(cluster, cache, low + 1, "tx " + random.nextInt(), random.nextInt(NUMBERS));
            tx.commit();
        }
    }

    private static boolean isRanked(String cache) {
        return cache.startsWith("ranked");
    }

    private static void put(TestCluster cluster, String cache, int key, String text, int number) {
        Ignite node = cluster.node(0);

        node.cache(cache).put(key, isRanked(cache) ? TestValue.of(node, text, number) : text);
    }

    private void remove(TestCluster cluster, String cache, int key) {
        Object present = get(cluster, cache, key);

        removed.computeIfAbsent(List.of(cluster == one ? 1 : 2, cache, key), all -> new HashSet<>())
                .add(TestValue.number(present));
        cluster.node(0).cache(cache).remove(key);
    }

    private static Object get(TestCluster cluster, String cache, int key) {
        return cluster.node(0).cache(cache).withKeepBinary().get(key);
    }

    /** Another node takes the copies of one that leaves. */
    private void restartCopy() {
        Ignite copy = one.node(1);

        one.nodes().remove(copy);
        Ignition.stop(copy.name(), true);
        one.startNode("node-1");
    }

    /** As if the clock of the node were set back meanwhile: what counts is the order that it left. */
    private void restartAll() {
        VersionClock before = BacklogPlugin.of(context(two.node(0))).clock();

        TestCluster.await(before::isStored, "the stored order");
        two.stop();

        long order = before.order();

        two.start(1);
        capture(two);

        long restored = BacklogPlugin.of(context(two.node(0))).clock().restored();

        assertTrue(restored > order, restored + " is not above " + order);
    }

    /** Returns once the capture is active. */
    private static void capture(TestCluster cluster) {
        cluster.service().start("c", TestCluster.FAST, CACHES.toArray(new String[0]));
    }

    /** Delivers until these have nothing left to send. */
    private static void settle(Collection<Side> sides) throws Exception {
        int delivered;

        do {
            delivered = 0;

            for (Side side : sides) {
                side.read();
                delivered += side.deliver(Integer.MAX_VALUE);
            }
        } while (delivered > 0);
    }

    private void assertConverged(String cache, String what) {
        for (int key = 0; key < KEYS; key++) {
            Versioned winner = written.getOrDefault(List.of(cache, key), List.of()).stream()
                    .max((a, b) -> RULE.compare(a.version, b.version))
                    .orElse(null);
            String expected = winner == null || winner.value == null
                    ? "none"
                    : TestValue.text(winner.value) + " @ " + winner.version;

            for (Ignite node : List.of(one.node(0), one.node(1), two.node(0)))
                assertEquals(
                        expected, copy(node, cache, key), cache + ", key " + key + ", " + node.name() + ", " + what);
        }
    }

    /** Value and version of a key on a node. */
    private static String copy(Ignite node, String cache, Object key) {
        GridCacheContext<?, ?> cctx = context(node).cache().internalCache(cache).context();
        KeyCacheObject stored = cctx.toCacheKeyObject(key);
        CacheDataRow row = SharedCache.row(context(node), cctx, stored);

        if (row == null) return "none";

        SharedCache shared = BacklogPlugin.of(context(node)).shared().get(cache);
        CacheObject value = row.value();
        Object plain = value instanceof BinaryObject ? value : value.value(cctx.cacheObjectContext(), false);

        return TestValue.text(plain) + " @ " + shared.version(value, row.version());
    }

    private Side side(String cache, int cluster) {
        return sides.get(cache + cluster);
    }

    private static Map<String, String> configuration(int cluster) {
        return Map.of(
                ActiveActive.CLUSTER,
                String.valueOf(cluster),
                ActiveActive.CACHES,
                String.join(",", CACHES),
                ActiveActive.FIELDS,
                "ranked-atomic:" + TestValue.FIELD,
                ActiveActive.RANKS,
                "ranked-tx:" + TestValue.Rank.class.getName());
    }

    private static void create(TestCluster cluster) {
        TestValue.of(cluster.node(0), "registers the type", 0);

        for (String cache : CACHES)
            cluster.node(0)
                    .createCache(TestCluster.cache(cache, 1)
                            .setAtomicityMode(
                                    cache.endsWith("tx") ? CacheAtomicityMode.TRANSACTIONAL : CacheAtomicityMode.ATOMIC)
                            .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC));
    }

    private static GridKernalContext context(Ignite node) {
        return ((IgniteEx) node).context();
    }

    /** A source of one cluster and a sink of the other, for one cache. */
    private final class Side {
        private final TestCluster from;
        private final TestCluster to;
        private final String cache;
        private final byte cluster;
        private final List<Versioned> sent = new ArrayList<>();
        private final List<Versioned> waiting = new ArrayList<>();
        private TestReader reader;
        private Ignite readFrom;

        /** That whose entries were read; a reader of the backlog alone misses what another lost. */
        private long incarnation;

        Side(TestCluster from, TestCluster to, String cache, int cluster) {
            this.from = from;
            this.to = to;
            this.cache = cache;
            this.cluster = (byte) cluster;
        }

        /** Reads what the cluster itself has written; a reader that begins again reads some twice. */
        void read() throws Exception {
            if (readFrom != from.node(0)) reader = new TestReader(readFrom = from.node(0), "c", cache);

            reader.versioned.clear();
            reader.drain(from.service());

            long current = TestReader.incarnation(from.service(), "c", cache);

            if (!reader.marks.isEmpty() || current != incarnation) {
                if (!reader.marks.isEmpty()) reader.clear(from.service());

                incarnation = current;
                readEntries();
                reader.drain(from.service());
            }

            reader.versioned.forEach(this::found);
        }

        private void found(Versioned write) {
            if (write.version.cluster != cluster) return;

            assertRank(write);
            waiting.add(write);
            written.computeIfAbsent(List.of(cache, write.key), key -> new ArrayList<>())
                    .add(write);
        }

        private void assertRank(Versioned write) {
            if (!isRanked(cache)) {
                assertEquals(WriteRank.NONE, write.version.rank);
            } else {
                int number = (int) (write.version.rank - (1L << 56));
                Integer own = TestValue.number(write.value);
                Set<Integer> possible = own == null
                        ? removed.getOrDefault(List.of((int) cluster, cache, write.key), Set.of())
                        : Set.of(own);

                assertTrue(possible.contains(number), write.value + " has rank " + write.version.rank);
            }
        }

        /** All entries and known removals, as a source sends them where changes are missing. */
        private void readEntries() throws Exception {
            List<Object> keys = IntStream.range(0, KEYS).boxed().collect(Collectors.toList());

            reader.entries(from.service(), keys).forEach(this::found);
        }

        int deliver(int most) {
            List<Versioned> some = waiting.subList(0, Math.min(most, waiting.size()));
            int count = some.size();

            sent.addAll(some);
            some.clear();
            put(sent.subList(sent.size() - count, sent.size()));

            return count;
        }

        /** A writer that slept: an old run of changes comes once more, after newer ones. */
        void again(Random random) {
            int at = random.nextInt(sent.size() + 1);

            put(sent.subList(at, Math.min(sent.size(), at + 10)));
        }

        /** Everything once more, in another order: also removed keys, whose entries Ignite has forgotten. */
        void allAgain(Random random) {
            List<Versioned> all = new ArrayList<>(sent);

            Collections.shuffle(all, random);
            put(all);
        }

        private void put(List<Versioned> writes) {
            if (writes.isEmpty()) return;

            try (IgniteClient client = to.thinClient()) {
                TcpClientCache<Object, Object> target =
                        (TcpClientCache<Object, Object>) client.<Object, Object>cache(cache);

                for (Versioned write : writes) {
                    GridCacheVersion version = new GridCacheVersion(0, write.version.order, 0, write.version.cluster);

                    if (write.value == null)
                        target.removeAllConflict(Map.of(write.key, TestReader.withRank(write.version)));
                    else target.putAllConflict(Map.of(write.key, new T3<>(write.value, version, 0L)));
                }
            }
        }
    }
}
