package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.query.ScanQuery;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Writes of which the value with the greatest field remains. */
class FieldOrderTest extends SharedClusterTest {
    private static final String SINK = "ordered";
    private static final String[] CACHES = {"a"};
    private static final int TASKS = 3;
    private static final int KEYS = 20;
    private static final int WRITES = TestCluster.LONG_FORM ? 2_000 : 60;

    /** Several tasks write the same keys at once, each in an order of its own. */
    @ParameterizedTest
    @EnumSource(
            value = CacheAtomicityMode.class,
            names = {"ATOMIC", "TRANSACTIONAL"})
    void theGreatestOfAllTasksRemainsInEachCopy(CacheAtomicityMode mode) throws Exception {
        cache(mode);
        service().raise(SINK, FencedWrites.writer(1, 0), CACHES);

        ExecutorService threads = Executors.newFixedThreadPool(TASKS);
        List<Future<Void>> tasks = new ArrayList<>();

        try {
            for (int task = 0; task < TASKS; task++) tasks.add(threads.submit(writes(task)));

            for (Future<Void> task : tasks) task.get();
        } finally {
            threads.shutdownNow();
        }

        for (int key = 0; key < KEYS; key++)
            for (Ignite node : cluster.nodes()) {
                BinaryObject value = (BinaryObject)
                        node.cache("a").withKeepBinary().localPeek(key, CachePeekMode.PRIMARY, CachePeekMode.BACKUP);

                assertEquals(TASKS * WRITES - 1L, (Long) value.field("at"), mode + ", key " + key);
            }
    }

    /** All numbers up to the product of tasks and writes are written by one of the tasks, in no order. */
    private static Callable<Void> writes(int task) {
        List<Long> numbers = new ArrayList<>();

        for (long write = 0; write < WRITES; write++) numbers.add(task + TASKS * write);

        Collections.shuffle(numbers, new Random(task));

        return () -> {
            for (Long number : numbers) {
                Map<Object, Object> entries = new TreeMap<>();

                for (int key = 0; key < KEYS; key++) entries.put(key, value(number));

                write(entries);
            }

            return null;
        };
    }

    /** An equal value replaces the present one; a present one without the field is less than any. */
    @Test
    void fieldsAreCompared() {
        IgniteCache<Object, BinaryObject> cache = cache(CacheAtomicityMode.ATOMIC);
        Timestamp later = new Timestamp(5);

        later.setNanos(5_001_000);
        service().raise(SINK, FencedWrites.writer(1, 0), CACHES);

        Object[][] ascending = {{null, -1, 0L}, {new Date(5), new Timestamp(5), later, new Timestamp(6)}};

        for (Object[] values : ascending)
            for (int present = 0; present < values.length; present++)
                for (int given = values[0] == null ? 1 : 0; given < values.length; given++) {
                    String type = values[0] == null ? "Number" + present + given : "Time" + present + given;
                    boolean isEqual = values[present] instanceof Date
                            && values[given] instanceof Date
                            && present < 2
                            && given < 2;

                    cache.put(1, value(type, values[present], "present"));
                    write(Map.of(1, value(type + "given", values[given], "given")));
                    assertEquals(
                            given >= present || isEqual ? "given" : "present",
                            cache.get(1).field("text"),
                            values[given] + " after " + values[present]);
                }

        cluster.node(0).cache("a").put(1, "no object");
        write(Map.of(1, value(1L)));
        assertEquals(1L, (Long) cache.get(1).field("at"));
    }

    /** A request with such a value changes nothing: stored, it would be less than any that comes later. */
    @Test
    void aValueWithoutTheFieldIsRefused() {
        IgniteCache<Object, BinaryObject> cache = cache(CacheAtomicityMode.ATOMIC);
        Object[] without = {
            "no object",
            value("Null", null, ""),
            value("Text", "1", ""),
            value("Float", 1.0, ""),
            cluster.node(0).binary().builder("Other").setField("later", 1L).build()
        };

        service().raise(SINK, FencedWrites.writer(1, 0), CACHES);

        for (Object value : without) {
            String refusal = assertCode("MALFORMED", () -> write(new TreeMap<>(Map.of(1, value(1L), 2, value))));

            assertTrue(
                    refusal.contains("entry 1 has no whole number, date or timestamp in field 'at'"),
                    refusal); // as the sink reads it
        }

        assertEquals(0, cache.query(new ScanQuery<>()).getAll().size());
    }

    @Test
    void aRemovalAndAnOlderTaskAreRefused() {
        IgniteCache<Object, BinaryObject> cache = cache(CacheAtomicityMode.TRANSACTIONAL);

        service().raise(SINK, FencedWrites.writer(1, 0), CACHES);
        write(Map.of(1, value(1L)));

        Map<Object, Object> removal = Collections.singletonMap(1, null);

        assertCode("MALFORMED", () -> write(removal));
        assertCode("MALFORMED", () -> service()
                .writeGreatest(SINK, FencedWrites.writer(1, 0, 0), "a", "", request(Map.of(1, value(1L)))));
        service().raise(SINK, FencedWrites.writer(2, 0), CACHES);
        assertCode("FENCED", () -> write(Map.of(1, value(2L))));
        assertEquals(1L, (Long) cache.get(1).field("at"));
    }

    private static BinaryObject value(Long at) {
        return value("Value", at, "");
    }

    private static BinaryObject value(String type, Object at, String text) {
        return cluster.node(0)
                .binary()
                .builder(type)
                .setField("at", at, Object.class)
                .setField("text", text)
                .build();
    }

    private static void write(Map<Object, Object> entries) {
        service().writeGreatest(SINK, FencedWrites.writer(1, 0, 0), "a", "at", request(entries));
    }

    private static byte[] request(Map<Object, Object> entries) {
        return FencedWrites.request(cluster.node(0), entries);
    }

    private static IgniteCache<Object, BinaryObject> cache(CacheAtomicityMode mode) {
        return cluster.node(0)
                .getOrCreateCache(TestCluster.cache("a", 1)
                        .setAtomicityMode(mode)
                        .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC))
                .withKeepBinary();
    }
}
