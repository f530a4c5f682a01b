package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.query.ContinuousQuery;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Writes of sinks, which a newer task fences. */
class FencedWriteTest extends SharedClusterTest {
    private static final int ROUNDS = TestCluster.LONG_FORM ? 300 : 15;
    private static final int KEYS = 40;
    private static final int SLOT = 3;

    private static final AtomicInteger SINKS = new AtomicInteger();

    private final String sink = "sink-" + SINKS.incrementAndGet();

    /** Something of each kind of stored form: objects, enums, arrays, and what Java has as its own classes. */
    @Test
    void entriesAreStoredAsAPutStoresThem() throws Exception {
        IgniteCache<Object, Object> cache =
                cache("a", CacheAtomicityMode.ATOMIC).withKeepBinary();
        Map<Object, Object> entries = new LinkedHashMap<>();

        entries.put(1, "text");
        entries.put(2L, new byte[] {1, 2, 3});
        entries.put("key", new Date(5));
        entries.put(new UUID(1, 2), new int[] {4, 5});
        entries.put(3, new ArrayList<>(Arrays.asList(1, "two", 3.0)));
        entries.put(object("Key", 7), object("Value", 8));
        cluster.node(0).binary().registerEnum("Colour", Map.of("RED", 0));
        entries.put(4, cluster.node(0).binary().buildEnum("Colour", "RED"));
        entries.put(5, true);

        service().raise(sink, FencedWrites.writer(1, 0, SLOT), new String[] {"a"});
        service().write(sink, FencedWrites.writer(1, 0, SLOT), "a", false, request(entries));

        IgniteCache<Object, Object> other =
                cache("b", CacheAtomicityMode.ATOMIC).withKeepBinary();

        other.putAll(entries);

        for (Object key : entries.keySet()) {
            Object stored = cache.get(key);

            assertTrue(stored != null, "no entry of " + key);
            assertEquals(hex(other.get(key)), hex(stored), "value of " + key);
        }

        assertEquals(entries.size(), count(cache));

        Map<Object, Object> removed = new LinkedHashMap<>();

        removed.put(1, null);
        removed.put(5, false);
        service().write(sink, FencedWrites.writer(1, 0, SLOT), "a", false, request(removed));
        assertEquals(null, cache.get(1));
        assertEquals(false, cache.get(5));
        assertEquals(entries.size() - 1, count(cache));
    }

    @Test
    void anInsertLeavesExistingEntries() throws Exception {
        IgniteCache<Object, Object> cache = cache("a", CacheAtomicityMode.ATOMIC);

        cache.put(1, "old");
        service().raise(sink, FencedWrites.writer(1, 0, SLOT), new String[] {"a"});
        service().write(sink, FencedWrites.writer(1, 0, SLOT), "a", true, request(Map.of(1, "new", 2, "new")));
        assertEquals("old", cache.get(1));
        assertEquals("new", cache.get(2));
    }

    @ParameterizedTest
    @EnumSource(
            value = CacheAtomicityMode.class,
            names = {"ATOMIC", "TRANSACTIONAL"})
    void onlyTheTokenInForceWrites(CacheAtomicityMode mode) throws Exception {
        IgniteCache<Object, Object> cache = cache("a", mode);
        String[] caches = {"a"};

        assertCode("FENCED", () -> write(1, 0, "never raised"));
        service().raise(sink, FencedWrites.writer(1, 0), caches);
        assertEquals(1, service().generation(sink));
        write(1, 0, "first");
        service().raise(sink, FencedWrites.writer(1, 1, SLOT), caches);
        assertCode("FENCED", () -> write(1, 0, "older attempt"));
        assertCode("FENCED", () -> write(1, 2, "an attempt that nobody raised"));
        assertCode("FENCED", () -> service().raise(sink, FencedWrites.writer(1, 0, SLOT), caches));
        write(1, 1, "second");
        service().raise(sink, FencedWrites.writer(1, 1, SLOT), caches);
        write(1, 1, "raised twice");

        // A new run ends all older tokens, also of slots that it does not have.
        service().raise(sink, FencedWrites.writer(2, 0), caches);
        assertCode("FENCED", () -> write(1, 1, "older run"));
        assertCode("FENCED", () -> service().raise(sink, FencedWrites.writer(1, 9, SLOT + 1), caches));
        assertEquals("raised twice", cache.get(0));
        write(2, 0, "newer run");
        assertEquals("newer run", cache.get(0));

        service().forget(sink, caches);
        assertCode("FENCED", () -> write(2, 0, "deleted"));
        assertEquals(KEYS, count(cache));
        assertEquals("newer run", cache.get(KEYS - 1));
    }

    /**
     * An older task writes without pause while a newer one raises its token and writes. Whatever the nodes still held
     * of the older one, nothing of it is stored after something newer, and removals stay removed.
     */
    @ParameterizedTest
    @EnumSource(
            value = CacheAtomicityMode.class,
            names = {"ATOMIC", "TRANSACTIONAL"})
    void nothingOfAnOlderTaskFollowsANewerOne(CacheAtomicityMode mode) throws Exception {
        IgniteCache<Object, Object> cache = cache("a", mode);
        Map<Object, Integer> highest = new TreeMap<>();
        AtomicReference<String> failed = new AtomicReference<>();
        ContinuousQuery<Object, Object> query = new ContinuousQuery<>();

        query.setLocalListener(events -> events.forEach(event -> {
            if (event.getValue() == null) return;

            int value = (Integer) event.getValue();

            synchronized (highest) {
                if (highest.merge(event.getKey(), value, Math::max) > value)
                    failed.set("key " + event.getKey() + " back to " + value);
            }
        }));
        service().raise(sink, FencedWrites.writer(1, 0), new String[] {"a"});

        QueryCursor<?> listening = cache.query(query);

        try {
            for (int round = 1; round <= ROUNDS; round++) {
                int number = round;
                Thread older = older(round - 1, failed);

                older.start();
                TestCluster.await(
                        () -> failed.get() != null
                                || Integer.valueOf(number - 1).equals(cache.get(0)),
                        "a write of the older task");
                assertEquals(null, failed.get());

                // The newer task is another attempt, or in every third round the first of another run.
                int[] slots = attempt(round) == 0 ? new int[0] : new int[] {SLOT};

                service()
                        .raise(sink, FencedWrites.writer(generation(round), attempt(round), slots), new String[] {"a"});
                writeAll(round);
                older.join();
                assertEquals(expected(round), TestCluster.content(cache), mode + ", round " + round);
            }
        } finally {
            listening.close();
        }

        assertEquals(null, failed.get());
    }

    /**
     * A token is raised while the one before it writes: each copy of an entry has the same value, and what is
     * confirmed.
     */
    @ParameterizedTest
    @EnumSource(
            value = CacheAtomicityMode.class,
            names = {"ATOMIC", "TRANSACTIONAL"})
    void allCopiesHaveWhatIsConfirmed(CacheAtomicityMode mode) throws Exception {
        cache("a", mode);
        service().raise(sink, FencedWrites.writer(1, 0, SLOT), new String[] {"a"});

        for (int round = 0; round < 4 * ROUNDS; round++) {
            int number = round;
            AtomicReference<String> refused = new AtomicReference<>();
            Runnable writing = () -> refused.set(refusalOf(() -> write(1, number, "round " + number)));
            Runnable raising =
                    () -> service().raise(sink, FencedWrites.writer(1, number + 1, SLOT), new String[] {"a"});
            Thread first = new Thread(round % 2 == 0 ? raising : writing);

            first.start();
            (round % 2 == 0 ? writing : raising).run();
            first.join();
            assertEqualCopies(mode + ", round " + round, refused.get() == null ? "round " + round : null);
        }

        write(1, 4 * ROUNDS, "the token in force");
        assertEqualCopies(mode + ", alone", "the token in force");
    }

    /** The refusal of a write by the fence, or null. */
    private static String refusalOf(Runnable write) {
        try {
            write.run();

            return null;
        } catch (BacklogException e) {
            assertEquals(BacklogException.Code.FENCED, e.code());

            return e.getMessage();
        }
    }

    private static void assertEqualCopies(String what, String confirmed) {
        for (int key = 0; key < KEYS; key++) {
            List<Object> copies = copies(key);

            assertEquals(1, Set.copyOf(copies).size(), what + ", key " + key + ": " + copies);

            if (confirmed != null) assertEquals(List.of(confirmed, confirmed), copies, what + ", key " + key);
        }
    }

    /** The value of each copy of an entry, "none" for a copy without one. */
    private static List<Object> copies(int key) {
        List<Object> copies = new ArrayList<>();

        for (Ignite node : cluster.nodes()) {
            Object value = node.cache("a").localPeek(key, CachePeekMode.PRIMARY, CachePeekMode.BACKUP);

            copies.add(value == null ? "none" : value);
        }

        return copies;
    }

    /** Writes in requests one after the other until it is refused. */
    private Thread older(int round, AtomicReference<String> failed) {
        Thread thread = new Thread(() -> {
            try {
                while (true) writeAll(round);
            } catch (BacklogException e) {
                if (e.code() != BacklogException.Code.FENCED) failed.set(e.toString());
            } catch (RuntimeException e) {
                failed.set(e.toString());
            }
        });

        thread.setDaemon(true);

        return thread;
    }

    private static int generation(int round) {
        return 1 + round / 3;
    }

    private static int attempt(int round) {
        return round % 3;
    }

    /** Even keys have the round's number; odd ones are removed in odd rounds. */
    private static Map<Object, Object> expected(int round) {
        Map<Object, Object> entries = new TreeMap<>();

        for (int key = 0; key < KEYS; key++) if (key % 2 == 0 || round % 2 == 0) entries.put(key, round);

        return entries;
    }

    private void writeAll(int round) {
        Map<Object, Object> entries = new LinkedHashMap<>();

        for (int key = 0; key < KEYS; key++) entries.put(key, expected(round).get(key));

        service()
                .write(
                        sink,
                        FencedWrites.writer(generation(round), attempt(round), SLOT),
                        "a",
                        false,
                        request(entries));
    }

    private void write(int generation, int attempt, String value) {
        Map<Object, Object> entries = new LinkedHashMap<>();

        for (int key = 0; key < KEYS; key++) entries.put(key, value);

        service().write(sink, FencedWrites.writer(generation, attempt, SLOT), "a", false, request(entries));
    }

    private static IgniteCache<Object, Object> cache(String name, CacheAtomicityMode mode) {
        return cluster.node(0)
                .getOrCreateCache(TestCluster.cache(name, 1)
                        .setAtomicityMode(mode)
                        .setWriteSynchronizationMode(
                                CacheWriteSynchronizationMode.FULL_SYNC)); // reads are of backups, too
    }

    /** Entries by a scan; the cache's own size counts partitions that move twice. */
    private static int count(IgniteCache<Object, Object> cache) {
        return cache.query(new ScanQuery<>()).getAll().size();
    }

    private static Object object(String type, int id) {
        return cluster.node(0).binary().builder(type).setField("id", id).build();
    }

    private static byte[] request(Map<?, ?> entries) {
        return FencedWrites.request(cluster.node(0), entries);
    }

    private static String hex(Object object) {
        return Arrays.toString(FencedWrites.bytes(cluster.node(0), object));
    }
}
