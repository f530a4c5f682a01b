package ignitekafka.backlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
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
import org.apache.ignite.internal.processors.cache.version.GridCacheVersion;

/**
 * A reader of one cache by the contract of {@link BacklogService}: it reads, remembers what it has seen, applies
 * changes to a state, looks a key up when an earlier change of it arrives late, and acknowledges.
 */
final class TestReader {
    private final Ignite node;
    private final String connector;
    private final String cache;
    private final Set<String> seen = new HashSet<>();

    /** Units that may have unacknowledged changes. */
    private final Set<Unit> pending = new HashSet<>();

    /** The last number of each key, by unit and key. */
    private final Map<List<Object>, Long> lastNumbers = new HashMap<>();

    private byte[] position = {};

    /** Values by key, after the changes that were read. */
    final Map<Object, Object> state = new TreeMap<>();

    /** The highest Integer value of each key; the tests write increasing values. */
    final Map<Object, Integer> highest = new HashMap<>();

    final Set<Object> expired = new HashSet<>();

    /** Each change with a version, in the order of reads, also those that were read before. */
    final List<Versioned> versioned = new ArrayList<>();

    /** Marks by partition, from the last read. */
    final Map<Integer, Integer> marks = new LinkedHashMap<>();

    final Map<Integer, Long> markNumbers = new HashMap<>();

    /** Changes that were new to this reader. */
    int read;

    /** Changes whose number is not above the last number of their key. */
    int late;

    /** Changes in the order of numbers whose value is nevertheless below the highest of their key. */
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
        ByteBuffer out = Chunk.buffer(new byte[Unit.BYTES * units.size()]);

        units.forEach(unit -> unit.write(out));

        return out.array();
    }

    /** Returns the units that have changed since the previous call, or null if any may have. */
    Set<Unit> changed(BacklogService service) {
        ByteBuffer in = Chunk.buffer(service.changed(connector, position));

        assertEquals(0x31444B42, in.getInt());
        in.getInt(); // topology

        boolean any = in.getInt() == 1;
        int count = in.getInt();
        Set<Unit> units = new HashSet<>();

        position = new byte[in.getInt()];

        for (int i = 0; i < count; i++) assertTrue(units.add(Unit.read(in)));

        in.get(position);
        assertFalse(in.hasRemaining());
        assertTrue(!any || units.isEmpty());

        return any ? null : units;
    }

    /** Reads the pending units once and, if wanted, acknowledges; returns the number of changes in the answer. */
    int readOnce(BacklogService service, int maxBytes, boolean acknowledge) throws Exception {
        Set<Unit> changed = changed(service);
        List<Unit> all = units(service);

        pending.addAll(changed == null ? all : changed);

        List<Unit> units = all.stream().filter(pending::contains).collect(Collectors.toList());
        Answer answer = new Answer(service.read(connector, bytes(units), maxBytes), units.size());

        marks.clear();

        for (int unit = 0, at = 0; unit < units.size(); at += answer.count[unit], unit++) {
            if (answer.mark[unit] != 0) {
                marks.put(units.get(unit).partition, answer.mark[unit]);
                markNumbers.put(units.get(unit).partition, answer.markNumber[unit]);
            }

            apply(answer, units.get(unit), at, at + answer.count[unit]);
        }

        assertFalse(answer.entries.hasRemaining());

        if (acknowledge) {
            service.acknowledge(connector, answer.acknowledgement(units));

            for (int unit = 0; unit < units.size(); unit++) {
                if (answer.more[unit] == 0 && answer.mark[unit] == 0) pending.remove(units.get(unit));
            }
        }

        return answer.number.length;
    }

    /** Applies the changes of a unit, from index {@code from} up to before {@code to}. */
    private void apply(Answer answer, Unit unit, int from, int to) throws Exception {
        for (int at = from; at < to; at++) {
            Object key = object(answer.entries, answer.keyLength[at]);
            Object value = object(answer.entries, answer.valueLength[at]);

            assertEquals(answer.kind[at] >= Change.REMOVED, value == null);

            if (answer.cluster[at] != 0)
                versioned.add(new Versioned(
                        key, value, new EntryVersion(answer.rank[at], answer.order[at], answer.cluster[at])));

            if (answer.kind[at] == Change.EXPIRED) {
                expired.add(key);

                continue;
            }

            assertTrue(at == from || answer.number[at] >= answer.number[at - 1], "ascending numbers");

            if (seen.add(unit + ":" + answer.number[at] + ':' + answer.hash[at]))
                apply(unit, answer.number[at], key, value);
        }
    }

    private void apply(Unit unit, long number, Object key, Object value) {
        long last = lastNumbers.getOrDefault(List.of(unit, key), -1L);

        read++;

        if (number <= last) {
            late++;
            put(key, node.cache(cache).get(key));

            return;
        }

        lastNumbers.put(List.of(unit, key), number);
        put(key, value);

        if (value instanceof Integer && highest.merge(key, (Integer) value, Math::max) > (Integer) value) stepsBack++;
    }

    private void put(Object key, Object value) {
        if (value == null) state.remove(key);
        else state.put(key, value);
    }

    /** Reads and acknowledges until the backlog is empty. */
    void drain(BacklogService service) throws Exception {
        service.barrier(connector);

        while (readOnce(service, 1 << 20, true) > 0) service.barrier(connector);
    }

    /** Prepares the marked units to be sent again. */
    void clear(BacklogService service) {
        List<Unit> marked = units(service).stream()
                .filter(unit -> marks.containsKey(unit.partition))
                .collect(Collectors.toList());
        ByteBuffer out = Chunk.buffer(new byte[(Unit.BYTES + Long.BYTES) * marked.size()]);

        for (Unit unit : marked) {
            unit.write(out);
            out.putLong(markNumbers.get(unit.partition));
        }

        service.clear(connector, out.array());
    }

    /** Entries and removals of keys, by {@link BacklogService#entries}; those without a version are left out. */
    List<Versioned> entries(BacklogService service, List<Object> keys) throws Exception {
        ByteArrayOutputStream asked = new ByteArrayOutputStream();

        for (Object key : keys) {
            byte[] bytes = ((IgniteEx) node)
                    .context()
                    .cacheObjects()
                    .marshal(
                            ((IgniteEx) node)
                                    .context()
                                    .cache()
                                    .internalCache(cache)
                                    .context()
                                    .cacheObjectContext(),
                            key);

            asked.write(Chunk.buffer(new byte[4]).putInt(bytes.length).array());
            asked.write(bytes);
        }

        ByteBuffer in = Chunk.buffer(service.entries(cache, asked.toByteArray()));
        List<Versioned> found = new ArrayList<>();

        assertEquals(keys.size(), in.getInt());

        long[] rank = Answer.longs(in, keys.size());
        long[] order = Answer.longs(in, keys.size());
        int[] length = Answer.ints(in, keys.size());
        byte[] cluster = new byte[keys.size()];

        in.get(cluster);

        for (int i = 0; i < keys.size(); i++) {
            Object value = length[i] < 0 ? null : object(in, length[i]);

            if (cluster[i] != 0)
                found.add(new Versioned(keys.get(i), value, new EntryVersion(rank[i], order[i], cluster[i])));
        }

        assertFalse(in.hasRemaining());

        return found;
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

    /** Ignite's version of a removal that is sent to another cluster. */
    static GridCacheVersion withRank(EntryVersion version) {
        return new GridCacheVersion(
                (int) (version.rank >>> 26),
                version.order,
                (int) version.rank & 0x3FFFFFF | 0x4000000,
                version.cluster);
    }

    /** A change with the version of its write; without a value for a removal. */
    static final class Versioned {
        final Object key;
        final Object value;
        final EntryVersion version;

        Versioned(Object key, Object value, EntryVersion version) {
            this.key = key;
            this.value = value;
            this.version = version;
        }
    }

    /** A decoded answer of {@link BacklogService#read}. */
    private static final class Answer {
        final long[] markNumber;
        final long[] stamp;
        final long[] number;
        final long[] hash;
        final long[] rank;
        final long[] order;
        final int[] count;
        final int[] mark;
        final int[] more;
        final int[] keyLength;
        final int[] valueLength;
        final byte[] kind;
        final byte[] cluster;

        /** Keys and values, in the order of the changes. */
        final ByteBuffer entries;

        Answer(byte[] bytes, int units) {
            ByteBuffer in = Chunk.buffer(bytes);

            int magic = in.getInt();
            boolean versioned = magic == 0x32434B42;

            assertTrue(versioned || magic == 0x31434B42);
            assertEquals(units, in.getInt());

            int changes = in.getInt();

            in.getInt(); // topology

            long entryBytes = in.getLong();

            markNumber = longs(in, units);
            stamp = longs(in, units);
            number = longs(in, changes);
            longs(in, changes); // time
            hash = longs(in, changes);
            rank = versioned ? longs(in, changes) : new long[changes];
            order = versioned ? longs(in, changes) : new long[changes];
            count = ints(in, units);
            mark = ints(in, units);
            more = ints(in, units);
            keyLength = ints(in, changes);
            valueLength = ints(in, changes);
            kind = new byte[changes];
            in.get(kind);
            cluster = new byte[changes];

            if (versioned) in.get(cluster);

            assertEquals(entryBytes, in.remaining());
            entries = in;
        }

        byte[] acknowledgement(List<Unit> units) {
            ByteBuffer out = Chunk.buffer(new byte[32 * units.size() + 16 * number.length]);

            for (int unit = 0, at = 0; unit < units.size(); unit++) {
                units.get(unit).write(out);
                out.putLong(stamp[unit]).putInt(count[unit]).putInt(0);

                for (int end = at + count[unit]; at < end; at++)
                    out.putLong(number[at]).putLong(hash[at]);
            }

            return out.array();
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
}
