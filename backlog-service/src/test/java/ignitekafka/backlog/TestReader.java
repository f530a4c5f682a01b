package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.internal.IgniteEx;

/** A reader as the documentation of {@link BacklogService} has it: reads, remembers, folds, acknowledges. */
final class TestReader {
    private final Ignite node;
    private final String connector;
    private final String cache;
    private final Set<String> sent = new HashSet<>();

    /** Units that may have more than was acknowledged. */
    private final Set<Unit> news = new HashSet<>();

    private byte[] place = {};

    /** Key to value of what was read; removed keys are gone. */
    final Map<Object, Object> fold = new TreeMap<>();

    /** Integer values must rise a key. */
    final Map<Object, Integer> last = new HashMap<>();

    final Set<Object> expired = new HashSet<>();

    /** Partition to marks, of the last read. */
    final Map<Integer, Integer> marks = new LinkedHashMap<>();

    final Map<Integer, Long> markNumbers = new HashMap<>();

    int read;
    int repeated;
    int stepsBack;

    TestReader(Ignite node, String connector, String cache) {
        this.node = node;
        this.connector = connector;
        this.cache = cache;
    }

    static long incarnation(BacklogService service, String connector, String cache) {
        return (Long) service.status(connector).get("incarnation." + cache);
    }

    List<Unit> units(BacklogService service) {
        long incarnation = incarnation(service, connector, cache);
        int partitions = (Integer) service.status(connector).get("partitions." + cache);
        List<Unit> units = new ArrayList<>();

        for (int partition = 0; partition < partitions; partition++)
            units.add(new Unit(cache.hashCode(), partition, incarnation));

        return units;
    }

    static byte[] bytes(List<Unit> units) {
        ByteBuffer out = Chunk.buffer(new byte[16 * units.size()]);

        units.forEach(unit -> out.putInt(unit.cacheId).putInt(unit.partition).putLong(unit.incarnation));

        return out.array();
    }

    /** The units that have changed since the last call, or null when any may have. */
    Set<Unit> changed(BacklogService service) {
        ByteBuffer in = Chunk.buffer(service.changed(connector, place));

        assertEquals(0x31444B42, in.getInt());
        in.getInt();

        boolean every = in.getInt() == 1;
        int count = in.getInt();
        Set<Unit> units = new HashSet<>();

        place = new byte[in.getInt()];

        for (int i = 0; i < count; i++) assertTrue(units.add(Unit.read(in)));

        in.get(place);
        assertFalse(in.hasRemaining());
        assertTrue(!every || units.isEmpty());

        return every ? null : units;
    }

    /** One read of the units that may have news and, if wanted, its acknowledgement; answers how many changes came. */
    int pass(BacklogService service, int maxBytes, boolean acknowledge) throws Exception {
        Set<Unit> changed = changed(service);
        List<Unit> all = units(service);

        news.addAll(changed == null ? all : changed);

        List<Unit> units = all.stream().filter(news::contains).collect(Collectors.toList());
        ByteBuffer in = Chunk.buffer(service.read(connector, bytes(units), maxBytes));

        assertEquals(0x31434B42, in.getInt());

        int u = in.getInt();
        int n = in.getInt();

        assertEquals(units.size(), u);
        in.getInt();

        long entryBytes = in.getLong();
        long[] markNumber = longs(in, u);
        long[] stamp = longs(in, u);
        long[] number = longs(in, n);

        longs(in, n);

        long[] hash = longs(in, n);
        int[] count = ints(in, u);
        int[] mark = ints(in, u);

        int[] more = ints(in, u);
        int[] keyLength = ints(in, n);
        int[] valueLength = ints(in, n);
        byte[] kind = new byte[n];

        in.get(kind);

        assertEquals(entryBytes, in.remaining());
        marks.clear();

        ByteBuffer acknowledged = Chunk.buffer(new byte[32 * u + 16 * n]);
        int at = 0;

        for (int unit = 0; unit < u; unit++) {
            if (mark[unit] != 0) {
                marks.put(units.get(unit).partition, mark[unit]);
                markNumbers.put(units.get(unit).partition, markNumber[unit]);
            }

            acknowledged
                    .putInt(units.get(unit).cacheId)
                    .putInt(units.get(unit).partition)
                    .putLong(units.get(unit).incarnation);
            acknowledged.putLong(stamp[unit]).putInt(count[unit]).putInt(0);

            long before = -2;

            for (int end = at + count[unit]; at < end; at++) {
                Object key = object(in, keyLength[at]);
                Object value = object(in, valueLength[at]);

                assertEquals(kind[at] >= Change.REMOVED, value == null);

                acknowledged.putLong(number[at]).putLong(hash[at]);

                if (kind[at] == Change.EXPIRED) {
                    expired.add(key);

                    continue;
                }

                assertFalse(number[at] < before, "ascending");
                before = number[at];

                if (sent.add(unit + ":" + units.get(unit).incarnation + ':' + number[at] + ':' + hash[at]))
                    take(key, value);
                else repeated++;
            }
        }

        assertFalse(in.hasRemaining());

        if (acknowledge) {
            service.acknowledge(connector, acknowledged.array());

            for (int unit = 0; unit < u; unit++) {
                if (more[unit] == 0 && mark[unit] == 0) news.remove(units.get(unit));
            }
        }

        return n;
    }

    private void take(Object key, Object value) {
        read++;

        if (value == null) fold.remove(key);
        else {
            fold.put(key, value);

            if (value instanceof Integer && last.merge(key, (Integer) value, Math::max) > (Integer) value) stepsBack++;
        }
    }

    /** Reads and acknowledges until nothing is left. */
    void drain(BacklogService service) throws Exception {
        service.barrier(connector);

        while (pass(service, 1 << 20, true) > 0) service.barrier(connector);
    }

    private Object object(ByteBuffer in, int length) throws Exception {
        byte[] bytes = new byte[length];

        in.get(bytes);

        return ((IgniteEx) node)
                .context()
                .cacheObjects()
                .unmarshal(
                        ((IgniteEx) node)
                                .context()
                                .cache()
                                .internalCache(cache)
                                .context()
                                .cacheObjectContext(),
                        bytes,
                        null);
    }

    private static long[] longs(ByteBuffer in, int count) {
        long[] values = new long[count];

        for (int i = 0; i < count; i++) values[i] = in.getLong();

        return values;
    }

    private static int[] ints(ByteBuffer in, int count) {
        int[] values = new int[count];

        for (int i = 0; i < count; i++) values[i] = in.getInt();

        return values;
    }
}
