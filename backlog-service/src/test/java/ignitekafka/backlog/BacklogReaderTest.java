package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.internal.IgniteEx;
import org.junit.jupiter.api.Test;

/** Reads of the backlog: bounds, late chunks, lookups. */
class BacklogReaderTest extends SharedClusterTest {
    @Test
    void readsInBoundedBatches() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", FAST, new String[] {"a"});

        for (int i = 0; i < 20_000; i += 1_000) {
            Map<Object, Object> some = new TreeMap<>();

            for (int k = i; k < i + 1_000; k++) some.put(k % 7_000, k);

            cache.putAll(some);
        }

        TestReader reader = new TestReader(cluster.node(0), "c", "a");

        reader.drain(service());
        assertEquals(20_000, reader.read);
        assertEquals(TestCluster.content(cache), reader.state);
        assertEquals(0, reader.late + reader.stepsBack);
        assertEquals(8, service().units("c").length);
    }

    @Test
    void answersAreBoundedForALargeBacklog() throws Exception {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", FAST, new String[] {"a"});

        for (int from = 0; from < 12_000; from += 1_000) {
            putAll(cache, from, from + 1_000, 3_000);
            service().barrier("c");
        }

        TestReader reader = new TestReader(cluster.node(0), "c", "a");
        int length = service().read("c", TestReader.bytes(reader.units(service())), 1).length;

        assertTrue(length < 128 * Chunk.NUMBERS * 4_000, length + " bytes");
        reader.drain(service());
        assertEquals(12_000, reader.read);
        assertTrue(reader.marks.isEmpty());
    }

    @Test
    void keepsALateChunkThatAnAcknowledgementDidNotSee() throws Exception {
        cache("a");
        service().start("c", FAST, new String[] {"a"});

        TestReader reader = new TestReader(cluster.node(0), "c", "a");
        Unit unit = reader.units(service()).get(0);
        BacklogPlugin plugin = BacklogPlugin.of(((IgniteEx) cluster.node(0)).context());
        ConnectorSettings settings = plugin.registry().get("c").settings;
        IgniteCache<BacklogKey, byte[]> backlog = plugin.backlog(settings);
        BacklogWriter writer = new BacklogWriter(plugin, settings);
        UnitBuffer buffer = new UnitBuffer(unit, "a");

        writer.write(batch(buffer, 3, 40));

        // The acknowledgement of number 3, without its last step.
        UnitRecord record = UnitRecord.decode(backlog.get(unit.record()));

        assertEquals(2, reader.readOnce(service(), 1 << 20, false));
        backlog.remove(unit.chunk(0));
        writer.write(batch(buffer, 5, 41));
        backlog.invoke(unit.record(), RecordChange.acknowledge(new Ranges(), 1, record.turn));

        assertEquals(3, reader.readOnce(service(), 1 << 20, true));
        assertEquals(4, reader.read);
        assertEquals(0, reader.readOnce(service(), 1 << 20, true));
        assertEquals(1, UnitRecord.decode(backlog.get(unit.record())).low);
    }

    /** Changes with these numbers, which are also their keys and values. */
    private static List<UnitBuffer.Batch> batch(UnitBuffer buffer, int... numbers) {
        return List.of(new UnitBuffer.Batch(
                buffer,
                Arrays.stream(numbers)
                        .mapToObj(number -> {
                            byte[] bytes = Chunk.buffer(new byte[5])
                                    .put((byte) 3)
                                    .putInt(number)
                                    .array();

                            return new Change(number, 0, Change.CREATED, bytes, bytes);
                        })
                        .collect(Collectors.toList()),
                new HashMap<>(),
                0));
    }

    @Test
    void looksUpValuesOnPrimaryNodes() {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", FAST, new String[] {"a"});

        ByteBuffer found = Chunk.buffer(service().lookup("c", "a", hundredKeys(cache)));

        assertEquals(100, found.getInt());

        for (int i = 0; i < 100; i++) assertEquals(i % 2 == 0 ? 5 : -1, found.getInt());

        for (int i = 0; i < 100; i += 2) {
            assertEquals(3, found.get());
            assertEquals(1_000 + i, found.getInt());
        }

        assertFalse(found.hasRemaining());
        assertCode("UNKNOWN_CACHE", () -> service().lookup("c", "b", new byte[0]));
        assertCode("MALFORMED", () -> service().lookup("c", "a", new byte[] {9, 0, 0, 0}));
    }

    @Test
    void locatesKeys() {
        IgniteCache<Object, Object> cache = cache("a");

        service().start("c", FAST, new String[] {"a"});

        ByteBuffer found = Chunk.buffer(service().locate("c", "a", hundredKeys(cache)));

        assertEquals(100, found.getInt());

        for (int i = 0; i < 100; i++) assertEquals(cluster.node(0).affinity("a").partition(i), found.getInt());

        for (int i = 0; i < 100; i++) assertEquals(i % 2 == 0 ? 1 : 0, found.get());

        assertFalse(found.hasRemaining());
        assertCode("UNKNOWN_CACHE", () -> service().locate("c", "b", new byte[0]));
    }

    /** The keys 0 to 99 as Integer; the even ones get the value 1,000 + key. */
    private static byte[] hundredKeys(IgniteCache<Object, Object> cache) {
        ByteBuffer keys = Chunk.buffer(new byte[100 * 9]);

        for (int i = 0; i < 100; i++) {
            keys.putInt(5).put((byte) 3).putInt(i); // type code 3, four bytes

            if (i % 2 == 0) cache.put(i, 1_000 + i);
        }

        return keys.array();
    }
}
