package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import javax.cache.expiry.CreatedExpiryPolicy;
import javax.cache.expiry.Duration;
import org.apache.ignite.IgniteCache;
import org.junit.jupiter.api.Test;

/** What units have left to send, compared with the count of the whole backlog. */
class UnitEndsTest extends SharedClusterTest {
    private static final int LONGS = 6;

    @Test
    void countsWhatTheBacklogHasWithoutReadingIt() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");
        long before = System.currentTimeMillis();

        service().start("c", FAST, new String[] {"a"});
        assertTrue(rows(service().ends("c")).isEmpty());

        putAll(cache, 0, 5_000, 100);

        for (int key = 0; key < 500; key++) cache.put(key, key);

        afterBarrier("c");
        assertSameCounts(5_500, before);
    }

    @Test
    void countsWhatIsLeftAfterAcknowledgements() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");
        long before = System.currentTimeMillis();

        service().start("c", FAST, new String[] {"a"});
        putAll(cache, 0, 3_000, 100);
        afterBarrier("c");

        TestReader reader = new TestReader(cluster.node(0), "c", "a");

        reader.readOnce(service(), 1, true);

        long left = 3_000 - reader.read;

        assertTrue(left > 0, reader.read + " read at once");
        assertSameCounts(left, before);
        reader.drain(service());
        assertTrue(rows(service().ends("c")).isEmpty());
    }

    @Test
    void countsMarksAndExpiredKeys() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", FAST, new String[] {"a"});

        TestReader reader = new TestReader(cluster.node(0), "c", "a");
        Unit unit = reader.units(service()).get(0);
        ByteBuffer marked = Chunk.buffer(new byte[Unit.BYTES]);

        unit.write(marked);
        service().mark("c", marked.array());

        Map<Integer, long[]> rows = rows(service().ends("c"));

        assertEquals(1, rows.size());
        assertEquals(UnitRecord.ASKED, rows.get(unit.partition)[8]);
        assertEquals(0, rows.get(unit.partition)[3]);

        cache.withExpiryPolicy(new CreatedExpiryPolicy(new Duration(TimeUnit.MILLISECONDS, 1)))
                .put("short-lived", 1);

        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);

        while (count(rows(afterBarrier("c").ends("c"))) < 2 && System.nanoTime() < deadline) Thread.sleep(20);

        assertEquals(2, count(rows(service().ends("c"))), "the put and its expiry");
    }

    private static void assertSameCounts(long expected, long before) {
        Map<Integer, long[]> ends = rows(service().ends("c"));
        Map<Integer, long[]> units = rows(service().units("c"));

        assertEquals(expected, count(ends));
        assertEquals(units.keySet(), ends.keySet());
        units.forEach((partition, row) -> {
            long[] found = ends.get(partition);

            for (int column : new int[] {0, 1, 2, 3, 5, 6, 7, 8})
                assertEquals(row[column], found[column], "partition " + partition + ", column " + column);

            assertTrue(before <= found[4] && found[4] <= System.currentTimeMillis(), "time " + found[4]);
        });
    }

    private static long count(Map<Integer, long[]> rows) {
        return rows.values().stream().mapToLong(row -> row[3]).sum();
    }

    /** Rows by partition. */
    private static Map<Integer, long[]> rows(byte[] answer) {
        ByteBuffer in = Chunk.buffer(answer);

        in.getInt();

        long[][] rows = new long[in.getInt()][9];

        for (int column = 0; column < 9; column++) {
            for (long[] row : rows) row[column] = column < LONGS ? in.getLong() : in.getInt();
        }

        Map<Integer, long[]> byPartition = new TreeMap<>();

        for (long[] row : rows) byPartition.put((int) row[7], row);

        return byPartition;
    }
}
