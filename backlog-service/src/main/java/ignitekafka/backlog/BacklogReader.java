package ignitekafka.backlog;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteCache;

/** Reads and acknowledges the backlog of one connector. The layouts are those of {@link BacklogService}. */
final class BacklogReader {
    /** In answers: the cache has another incarnation by now, or is captured no more. */
    private static final int GONE = 8;

    /** Units that are looked at together. */
    private static final int HEADS = 1_024;

    /** Units that are read together, of those that have anything. */
    private static final int GROUP = 64;

    /** Chunks looked for at a time in a group: when nothing tells how large they are, at first, and at most. */
    private static final int UNKNOWN_CHUNKS = 8;

    private static final int FIRST_CHUNKS = 128;

    private static final int GROUP_CHUNKS = 1_024;

    /** Of {@link BacklogPlugin#topology}, from before anything is read. */
    private final int topology;

    private final ReadSizes sizes;
    private final IgniteCache<BacklogKey, byte[]> backlog;
    private final Map<Integer, Long> incarnations;

    BacklogReader(BacklogPlugin plugin, Connector connector) {
        topology = plugin.topology();
        sizes = plugin.readSizes(connector.settings.connector);
        backlog = plugin.backlog(connector.settings);
        incarnations = new Captures(plugin).incarnations(connector);
    }

    byte[] read(List<Unit> units, int maxBytes) {
        List<Found> all = new ArrayList<>();
        long bytes = 0;

        for (int from = 0; from < units.size(); from += HEADS) {
            List<Found> some = new ArrayList<>();

            for (Unit unit : units.subList(from, Math.min(units.size(), from + HEADS))) some.add(new Found(unit));

            if (bytes < maxBytes) bytes += read(some, maxBytes - bytes);

            all.addAll(some);
        }

        AnswerLimit.cut(all);

        return encode(all);
    }

    /**
     * Records and expired keys first, then chunks downwards: see {@link BacklogWriter} for why that is the safe order.
     */
    private long read(List<Found> some, long maxBytes) {
        heads(some);

        List<Found> filled = some.stream().filter(Found::filled).collect(Collectors.toList());
        long bytes = 0;

        some.forEach(one -> one.looked = !one.filled());

        for (int from = 0; from < filled.size() && bytes < maxBytes; from += GROUP) {
            List<Found> group = filled.subList(from, Math.min(filled.size(), from + GROUP));

            chunks(group, maxBytes - bytes);
            group.forEach(BacklogReader::addExpired);
            bytes += group.stream().mapToLong(Found::bytes).sum();
        }

        return bytes;
    }

    private void heads(List<Found> some) {
        Set<BacklogKey> keys = new HashSet<>();

        for (Found one : some) {
            keys.add(one.unit.record());
            keys.add(one.unit.expired());
        }

        Map<BacklogKey, byte[]> values = backlog.getAll(keys);

        some.forEach(one -> head(one, values));
    }

    /**
     * Reads on until each unit has changes and the bytes are passed, or all is read; once more where a late chunk came
     * below those looked for.
     */
    private void chunks(List<Found> group, long maxBytes) {
        List<Found> open = new ArrayList<>(group);

        open.removeIf(one -> one.record == null || one.from > one.record.high);
        group.forEach(one -> one.looked = !open.contains(one));

        while (!open.isEmpty()) {
            List<Found> read = new ArrayList<>(open);
            int chunks = sizes.known() ? FIRST_CHUNKS : UNKNOWN_CHUNKS;

            while (!read.isEmpty()) {
                chunks = Math.min(chunks, sizes.chunks(Limits.bytes()));
                window(read.subList(0, Math.min(read.size(), chunks)), chunks);

                long bytes = group.stream().mapToLong(Found::bytes).sum();
                boolean passed = bytes >= maxBytes;
                boolean full = bytes >= Limits.bytes();

                read.removeIf(one -> one.from > one.record.high || full || passed && !one.changes.isEmpty());
                chunks = next(chunks, bytes, maxBytes);
            }

            open.removeIf(one -> one.changes.isEmpty());

            Map<BacklogKey, byte[]> records =
                    backlog.getAll(open.stream().map(one -> one.unit.record()).collect(Collectors.toSet()));

            open.removeIf(one -> !one.again(records.get(one.unit.record())));
        }
    }

    private void head(Found one, Map<BacklogKey, byte[]> values) {
        byte[] record = values.get(one.unit.record());

        if (!Long.valueOf(one.unit.incarnation).equals(incarnations.get(one.unit.cacheId))) {
            one.gone = true;

            return;
        }

        if (record == null) {
            backlog.invoke(one.unit.record(), RecordChange.check());
            record = backlog.get(one.unit.record());
        }

        one.record = UnitRecord.decode(record);
        one.low = one.from = one.record.low;
        one.expired = values.get(one.unit.expired());
    }

    /**
     * How many chunks to look for next: twice as many, unless what was found tells that these pass {@code maxBytes}.
     */
    private static int next(int chunks, long bytes, long maxBytes) {
        return bytes > maxBytes / 2 ? chunks : Math.min(GROUP_CHUNKS, 2 * chunks);
    }

    /** Reads the next chunks of each unit, the same share for each, the highest first. */
    private void window(List<Found> open, int chunksInAll) {
        int share = Math.max(1, chunksInAll / open.size());
        Map<BacklogKey, byte[]> chunks = new HashMap<>();

        for (int step = 0; step < share; step++) {
            Set<BacklogKey> wave = new HashSet<>();

            for (Found one : open) {
                long index = Math.min(one.record.high, one.from + share - 1) - step;

                if (index >= one.from) wave.add(one.unit.chunk(index));
            }

            if (wave.isEmpty()) break;

            chunks.putAll(backlog.getAll(wave));
        }

        chunks.values().forEach(chunk -> sizes.found(chunk.length));

        for (Found one : open) {
            long to = Math.min(one.record.high, one.from + share - 1);

            one.looked = true;

            for (long index = one.from; index <= to; index++) {
                byte[] chunk = chunks.get(one.unit.chunk(index));

                if (chunk != null) one.changes.addAll(Chunk.decode(chunk));
            }

            one.from = to + 1;
        }
    }

    private static void addExpired(Found one) {
        if (one.expired == null || one.more() || one.gone) return;

        ExpiredKeys.decode(one.expired).forEach((key, stampAndTime) -> {
            one.stamp = Math.max(one.stamp, stampAndTime[0]);
            one.changes.add(new Change(-1, stampAndTime[1], Change.EXPIRED, key.array(), null));
        });
    }

    private byte[] encode(List<Found> all) {
        List<Change> changes = new ArrayList<>();
        long entries = 0;

        for (Found one : all) changes.addAll(one.changes);

        for (Change change : changes) entries += PageForm.length(change.key) + PageForm.length(change.value);

        long size = AnswerLimit.HEADER + AnswerLimit.UNIT * all.size() + AnswerLimit.CHANGE * changes.size() + entries;
        ByteBuffer out = Chunk.buffer(new byte[Math.toIntExact(size)]);

        out.putInt(0x31434B42)
                .putInt(all.size())
                .putInt(changes.size())
                .putInt(topology)
                .putLong(entries);
        all.forEach(one -> out.putLong(one.record == null ? 0 : one.record.markNumber));
        all.forEach(one -> out.putLong(one.stamp));
        changes.forEach(change -> out.putLong(change.number));
        changes.forEach(change -> out.putLong(change.timeMs));
        changes.forEach(change -> out.putLong(change.hash));
        all.forEach(one -> out.putInt(one.changes.size()));
        all.forEach(one -> out.putInt(one.marks()));
        all.forEach(one -> out.putInt(one.more() ? 1 : 0));
        changes.forEach(change -> out.putInt(PageForm.length(change.key)));
        changes.forEach(change -> out.putInt(PageForm.length(change.value)));
        changes.forEach(change -> out.put(change.kind));
        changes.forEach(change -> {
            PageForm.put(out, change.key);
            PageForm.put(out, change.value);
        });

        return out.array();
    }

    void acknowledge(List<Acknowledgement> all) {
        SortedMap<BacklogKey, Acknowledgement> byRecord = new TreeMap<>();

        all.forEach(one -> byRecord.put(one.unit.record(), one));

        Map<BacklogKey, byte[]> records = backlog.getAll(byRecord.keySet());
        SortedMap<BacklogKey, RecordChange> changes = new TreeMap<>();

        trim(byRecord);

        byRecord.forEach((key, one) -> {
            byte[] record = records.get(key);

            if (record != null) changes.put(key, acknowledged(one, UnitRecord.decode(record)));
        });

        backlog.invokeAll(changes);
    }

    private void trim(Map<BacklogKey, Acknowledgement> byRecord) {
        SortedMap<BacklogKey, ChunkChange> trims = new TreeMap<>();
        SortedMap<BacklogKey, ExpiredKeys> expired = new TreeMap<>();

        byRecord.forEach((key, one) -> {
            if (one.expiredStamp > 0) expired.put(one.unit.expired(), ExpiredKeys.remove(one.expiredStamp));

            one.byChunk.forEach((index, changes) -> trims.put(one.unit.chunk(index), ChunkChange.remove(changes)));
        });

        backlog.invokeAll(trims);
        backlog.invokeAll(expired);
    }

    /**
     * Looks for the lowest chunk that is still there, as far as a window sees, and not beyond those acknowledged; after
     * the trims.
     */
    private RecordChange acknowledged(Acknowledgement one, UnitRecord record) {
        long from = record.low;
        long last = one.byChunk.isEmpty() ? from : one.byChunk.lastKey();

        for (int looked = 0;
                from < last && looked < GROUP_CHUNKS && !backlog.containsKey(one.unit.chunk(from));
                looked++) from++;

        return RecordChange.acknowledge(one.numbers, from, record.turn);
    }

    /** What was found of one unit. */
    static final class Found {
        final Unit unit;
        final List<Change> changes = new ArrayList<>();

        /** Whether the last changes were left out. */
        boolean cut;

        UnitRecord record;
        byte[] expired;
        boolean looked;
        boolean gone;

        /** The lowest chunk looked for, and the next. */
        long low;

        long from;

        long stamp;

        Found(Unit unit) {
            this.unit = unit;
        }

        /** Whether chunks are there below those that were read; then it forgets those. */
        boolean again(byte[] bytes) {
            UnitRecord now = bytes == null ? record : UnitRecord.decode(bytes);

            if (now.low >= low) return false;

            record = now;
            low = from = now.low;
            changes.clear();

            return true;
        }

        int marks() {
            return (gone ? GONE : 0) | (record == null ? 0 : record.marks);
        }

        /** Whether there may be anything beside the record. */
        boolean filled() {
            return expired != null || record != null && from <= record.high;
        }

        boolean more() {
            return cut || !looked || record != null && from <= record.high;
        }

        long bytes() {
            return changes.stream()
                    .mapToLong(change -> change.key.length + Math.max(0, change.valueLength()))
                    .sum();
        }
    }
}
