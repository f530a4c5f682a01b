package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.ignite.IgniteCache;
import org.junit.jupiter.api.Test;

/** Units that are given up, marked and sent again. */
class UnitMarksTest extends SharedClusterTest {
    private static final int ROUNDS = TestCluster.LONG_FORM ? 300 : 100;

    @Test
    void givesUnitsUpBeforeTheRegionIsFullUnderFastWrites() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", Map.of(ConnectorSettings.FLUSH_FREQUENCY, "2000"), new String[] {"a"});

        for (int from = 0; from < 60_000; from += 4_000) putAll(cache, from, from + 4_000, 1_000);

        service().barrier("c");

        for (String line : (String[]) service().status("c").get("nodes"))
            assertTrue(Double.parseDouble(line.substring(line.indexOf("fill=") + 5)) < 0.9, line);

        TestReader reader = new TestReader(cluster.node(0), "c", "a");

        reader.readOnce(service(), 1 << 20, false);
        assertFalse(reader.marks.isEmpty());
        assertTrue(reader.marks.values().stream().allMatch(mark -> mark == UnitRecord.GIVEN_UP));
    }

    @Test
    void givesUnitsUpWhenTheBufferIsFullUntilTheyAreCleared() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service()
                .start(
                        "c",
                        Map.of(ConnectorSettings.FLUSH_FREQUENCY, "60000", ConnectorSettings.BUFFER_ENTRIES, "100"),
                        new String[] {"a"});

        for (int i = 0; i < 1_000; i++) cache.put(i, i);

        TestReader reader = new TestReader(cluster.node(0), "c", "a");

        service().barrier("c");
        reader.readOnce(service(), 1 << 20, true);
        assertFalse(reader.marks.isEmpty());
        assertTrue(reader.marks.values().stream().allMatch(mark -> mark == UnitRecord.GIVEN_UP));

        ByteBuffer clear = Chunk.buffer(new byte[24 * reader.marks.size()]);

        reader.units(service()).stream()
                .filter(unit -> reader.marks.containsKey(unit.partition))
                .forEach(unit -> clear.putInt(unit.cacheId)
                        .putInt(unit.partition)
                        .putLong(unit.incarnation)
                        .putLong(reader.markNumbers.get(unit.partition)));
        service().clear("c", clear.array());

        for (int i = 0; i < 10; i++) cache.put(i, -i);

        service().barrier("c");
        reader.readOnce(service(), 1 << 20, true);
        assertTrue(reader.marks.isEmpty());

        for (int i = 1; i < 10; i++) assertEquals(-i, reader.state.get(i));
    }

    @Test
    void marksRequestedUnitsUntilTheyAreCleared() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", FAST, new String[] {"a"});
        cache.put(1, 1);

        TestReader reader = new TestReader(cluster.node(0), "c", "a");
        Unit asked = reader.units(service()).get(cluster.node(0).affinity("a").partition(1));
        Unit other = new Unit(asked.cacheId, asked.partition, asked.incarnation - 1);
        Unit beyond = new Unit(asked.cacheId, 8, asked.incarnation);

        assertCode("UNKNOWN_CACHE", () -> service().mark("c", TestReader.bytes(List.of(other))));
        assertCode("MALFORMED", () -> service().mark("c", TestReader.bytes(List.of(beyond))));
        service().mark("c", TestReader.bytes(List.of(asked)));
        cache.put(1, 2);
        service().barrier("c");
        assertEquals(2, reader.readOnce(service(), 1 << 20, true));
        assertEquals(Map.of(asked.partition, UnitRecord.ASKED), reader.marks);
        assertEquals(Map.of(1, 2), reader.state);

        ByteBuffer clear = Chunk.buffer(new byte[24]).put(TestReader.bytes(List.of(asked)));

        service()
                .clear(
                        "c",
                        clear.putLong(reader.markNumbers.get(asked.partition)).array());
        reader.readOnce(service(), 1 << 20, true);
        assertTrue(reader.marks.isEmpty());
    }

    @Test
    void returnsNoOlderChangesAfterAClear() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", Map.of(ConnectorSettings.FLUSH_FREQUENCY, "0"), new String[] {"a"});

        TestReader reader = new TestReader(cluster.node(0), "c", "a");
        Unit unit = reader.units(service()).get(cluster.node(0).affinity("a").partition(1));
        byte[] cleared =
                Chunk.buffer(new byte[24]).put(TestReader.bytes(List.of(unit))).array();

        for (int round = 0; round < ROUNDS; round++) {
            int first = 100 * round;
            CompletableFuture<Void> puts = CompletableFuture.runAsync(() -> {
                for (int value = first; value < first + 20; value++) cache.put(1, value);
            });

            while (!cache.containsKey(1) || (int) cache.get(1) < first + round % 20) Thread.onSpinWait();

            service().clear("c", cleared);

            Object scanned = cache.get(1);

            puts.join();
            reader.state.clear();
            reader.drain(service());
            assertEquals(cache.get(1), reader.state.getOrDefault(1, scanned), "round " + round);
            assertEquals(0, reader.late, "round " + round);
        }
    }
}
