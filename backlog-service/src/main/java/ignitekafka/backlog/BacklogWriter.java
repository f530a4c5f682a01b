package ignitekafka.backlog;

import ignitekafka.backlog.UnitBuffer.Held;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteCache;

/**
 * Writes batches of changes to a backlog cache; each step may be repeated.
 *
 * <p>Order makes a reader safe without marks of what is complete: the unit's record first learns which chunks to look
 * for; then chunks are written in ascending order, one a unit at a time, each at once with all its changes; readers
 * read chunks in descending order. So whoever sees a change also sees, in that read, every earlier change of its key
 * that the same node captured; but for one that is written while a long read goes from one window to the next: it comes
 * with the next read, below what was sent of its key, and is looked up.
 *
 * <p>The record's low end rises as chunks are acknowledged, while a late number may bring a chunk below the high end
 * back. So the record learns of chunks once more after they are written, and of one that is below others before the
 * next: its turn rises, and an acknowledgement that had found no chunk there, in an earlier turn, leaves the low end
 * where it is. It never passes the highest chunk that it acknowledges, either: whoever has read that one has also read
 * what is below it.
 */
final class BacklogWriter {
    /** Chunks that one call removes. */
    private static final int REMOVED_AT_ONCE = 1_000;

    private final BacklogPlugin plugin;
    private final ConnectorSettings settings;

    BacklogWriter(BacklogPlugin plugin, ConnectorSettings settings) {
        this.plugin = plugin;
        this.settings = settings;
    }

    void write(List<UnitBuffer.Batch> batches) {
        if (batches.isEmpty()) return;

        IgniteCache<BacklogKey, byte[]> backlog = cache();
        SortedMap<BacklogKey, RecordChange> before = new TreeMap<>();
        SortedMap<BacklogKey, RecordChange> after = new TreeMap<>();
        List<Wave> waves = new ArrayList<>();
        SortedMap<BacklogKey, ExpiredKeys> expired = new TreeMap<>();

        confirm(backlog, batches, before);

        for (UnitBuffer.Batch batch : batches) {
            plan(batch, before, waves, after);

            if (!batch.expired.isEmpty()) expired.put(batch.buffer.unit.expired(), ExpiredKeys.add(batch.expired));
        }

        try {
            backlog.invokeAll(before);

            for (Wave wave : waves) {
                backlog.invokeAll(wave.chunks);
                backlog.invokeAll(wave.late);
            }

            backlog.invokeAll(after);
            backlog.invokeAll(expired);
        } finally {
            note(before.keySet());
            note(after.keySet());
            note(expired.keySet());
        }

        for (UnitBuffer.Batch batch : batches) {
            if (!batch.changes.isEmpty()) batch.buffer.knownHigh(Chunk.index(last(batch.changes).number));
        }
    }

    /** Marks a unit and frees the room of its changes: they will be sent again from the cache. */
    void mark(Unit unit, int mark) {
        change(new TreeMap<>(Map.of(unit.record(), RecordChange.mark(mark))));
        empty(unit);
    }

    /** Changes records of units. */
    void change(SortedMap<BacklogKey, RecordChange> records) {
        try {
            cache().invokeAll(records);
        } finally {
            note(records.keySet());
        }
    }

    /** Removes all that the backlog has of a unit, which is captured no more. */
    void forget(Unit unit) {
        empty(unit);
        cache().remove(unit.record());
        note(Set.of(unit.record()));
    }

    /** Also after a failure: what was written before it may be read. */
    private void note(Set<BacklogKey> written) {
        plugin.journal(settings.connector)
                .note(written.stream().map(BacklogKey::unit).collect(Collectors.toList()));
    }

    /** Removes all chunks of a unit that its record knows now. */
    void empty(Unit unit) {
        IgniteCache<BacklogKey, byte[]> backlog = cache();
        byte[] bytes = backlog.get(unit.record());

        if (bytes == null) return;

        UnitRecord record = UnitRecord.decode(bytes);

        for (long from = record.low; from <= record.high; from += REMOVED_AT_ONCE) {
            SortedMap<BacklogKey, Object> keys = new TreeMap<>();

            for (long index = from; index <= Math.min(record.high, from + REMOVED_AT_ONCE - 1); index++)
                keys.put(unit.chunk(index), index);

            backlog.removeAll(keys.keySet());
        }

        backlog.remove(unit.expired());

        if (record.high >= 0)
            backlog.invoke(unit.record(), RecordChange.acknowledge(new Ranges(), record.high, record.turn));
    }

    /** Takes out of batches of a backup what the primary wrote, or a reader has sent. */
    private void confirm(
            IgniteCache<BacklogKey, byte[]> backlog,
            List<UnitBuffer.Batch> batches,
            Map<BacklogKey, RecordChange> spans) {
        SortedMap<BacklogKey, UnitBuffer.Batch> keys = new TreeMap<>();

        for (UnitBuffer.Batch batch : batches) {
            if (batch.held != Held.NOT && !batch.changes.isEmpty()) {
                keys.put(batch.buffer.unit.record(), batch);
                batch.changes.forEach(change -> keys.put(batch.buffer.unit.chunk(Chunk.index(change.number)), batch));
            }
        }

        if (keys.isEmpty()) return;

        Map<BacklogKey, byte[]> found = backlog.getAll(keys.keySet());

        for (UnitBuffer.Batch batch : batches) {
            if (batch.held != Held.NOT && !batch.changes.isEmpty()) confirm(batch, found, spans);
        }
    }

    private static void confirm(
            UnitBuffer.Batch batch, Map<BacklogKey, byte[]> found, Map<BacklogKey, RecordChange> spans) {
        Unit unit = batch.buffer.unit;
        byte[] bytes = found.get(unit.record());
        UnitRecord record = bytes == null ? UnitRecord.empty() : UnitRecord.decode(bytes);
        Set<Change> present = new HashSet<>();
        Set<Long> numbers = new HashSet<>();

        batch.buffer.knownHigh(record.high);
        batch.changes.stream()
                .map(change -> Chunk.index(change.number))
                .distinct()
                .map(index -> found.get(unit.chunk(index)))
                .filter(chunk -> chunk != null)
                .forEach(chunk -> present.addAll(Chunk.decode(chunk)));
        present.forEach(change -> numbers.add(change.number));

        if ((record.marks & UnitRecord.FULL) != 0) // Its primary gave it up for want of room; it will be sent again.
        batch.changes.clear();
        else if (batch.held == Held.FOR_PRIMARY) batch.changes.removeIf(change -> record.sent.contains(change.number));

        if (batch.changes.isEmpty()) return;

        long low = Chunk.index(batch.changes.get(0).number);
        long high = Chunk.index(last(batch.changes).number);

        // A node that died between two steps may have left chunks that the record does not know.
        if (!record.spans(low, high)) spans.put(unit.record(), RecordChange.span(low, high));

        if (batch.held == Held.FOR_PRIMARY) batch.changes.removeIf(change -> numbers.contains(change.number));
        else batch.changes.removeAll(present);
    }

    private static void plan(
            UnitBuffer.Batch batch,
            Map<BacklogKey, RecordChange> before,
            List<Wave> waves,
            Map<BacklogKey, RecordChange> after) {
        if (batch.changes.isEmpty()) return;

        Unit unit = batch.buffer.unit;
        long low = Chunk.index(batch.changes.get(0).number);
        long high = Chunk.index(last(batch.changes).number);

        if (low < high || high != batch.buffer.knownHigh())
            before.putIfAbsent(unit.record(), RecordChange.span(low, high));

        after.put(unit.record(), RecordChange.span(low, high));

        int wave = 0;

        for (int from = 0, to; from < batch.changes.size(); from = to, wave++) {
            long index = Chunk.index(batch.changes.get(from).number);

            for (to = from + 1; to < batch.changes.size() && Chunk.index(batch.changes.get(to).number) == index; ) to++;

            if (wave == waves.size()) waves.add(new Wave());

            waves.get(wave)
                    .chunks
                    .put(unit.chunk(index), ChunkChange.add(Chunk.encode(batch.changes.subList(from, to))));

            if (index < high && index < batch.buffer.knownHigh())
                waves.get(wave).late.put(unit.record(), RecordChange.span(index, index));
        }
    }

    private IgniteCache<BacklogKey, byte[]> cache() {
        return plugin.backlog(settings);
    }

    /** What is written at a time: a chunk a unit, and which of them are below chunks that are there. */
    private static final class Wave {
        final SortedMap<BacklogKey, ChunkChange> chunks = new TreeMap<>();
        final SortedMap<BacklogKey, RecordChange> late = new TreeMap<>();
    }

    private static Change last(List<Change> changes) {
        return changes.get(changes.size() - 1);
    }
}
