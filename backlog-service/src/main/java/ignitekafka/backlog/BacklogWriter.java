package ignitekafka.backlog;

import ignitekafka.backlog.UnitBuffer.Held;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteCache;

/**
 * Writes batches of changes to a backlog cache. Each step is idempotent.
 *
 * <p>The order of writes makes reads consistent. First the unit's record spans the chunks to be written. Then chunks
 * are written in ascending order, one of each unit at a time, each with all its changes. Readers read chunks in
 * descending order. So a read that returns a change also returns every earlier change of its key that the same node
 * captured. The exception is a chunk written between two windows of a long read: the next read returns it, after later
 * changes of its key were sent, and the reader looks the key up.
 *
 * <p>Acknowledging chunks raises the low end of the record, while a late number may create a chunk below the high end
 * again. Therefore the record spans chunks a second time after they are written, and a chunk below existing ones before
 * the next is written. This increments its turn; an acknowledgement that found no chunk there, in an earlier turn, then
 * keeps the low end. An acknowledgement never raises the low end above its highest chunk: a reader of that chunk has
 * also read the chunks below.
 */
final class BacklogWriter {
    /** Maximum number of chunks that one call removes. */
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
        List<WriteStep> steps = new ArrayList<>();
        SortedMap<BacklogKey, ExpiredKeys> expired = new TreeMap<>();

        confirm(backlog, batches, before);

        for (UnitBuffer.Batch batch : batches) {
            plan(batch, before, steps, after);

            if (!batch.expired.isEmpty()) expired.put(batch.buffer.unit.expired(), ExpiredKeys.add(batch.expired));
        }

        try {
            backlog.invokeAll(before);

            for (WriteStep step : steps) {
                backlog.invokeAll(step.chunks);
                backlog.invokeAll(step.late);
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

    /** Marks a unit and removes its changes, which will be sent again from the cache. */
    void mark(Unit unit, int mark) {
        change(new TreeMap<>(Collections.singletonMap(unit.record(), RecordChange.mark(mark))));
        empty(unit);
    }

    /** Applies changes to records of units. */
    void change(SortedMap<BacklogKey, RecordChange> records) {
        try {
            cache().invokeAll(records);
        } finally {
            note(records.keySet());
        }
    }

    /** Removes everything of a unit that is no longer captured. */
    void forget(Unit unit) {
        empty(unit);
        cache().remove(unit.record());
        note(Collections.singleton(unit.record()));
    }

    /** Notes written units in the journal; also after a failure, because a part may be written. */
    private void note(Set<BacklogKey> written) {
        plugin.journal(settings.connector)
                .note(written.stream().map(BacklogKey::unit).collect(Collectors.toList()));
    }

    /** Removes all chunks that the record of a unit spans now, and its expired keys. */
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

        if ((record.marks & UnitRecord.GIVEN_UP) != 0) // its primary gave it up; it will be sent again
        batch.changes.clear();
        else if (batch.held == Held.FOR_PRIMARY) batch.changes.removeIf(change -> record.sent.contains(change.number));

        if (batch.changes.isEmpty()) return;

        long low = Chunk.index(batch.changes.get(0).number);
        long high = Chunk.index(last(batch.changes).number);

        // A node that died between two steps may have left chunks that the record does not span.
        if (!record.spans(low, high)) spans.put(unit.record(), RecordChange.span(low, high));

        if (batch.held == Held.FOR_PRIMARY) batch.changes.removeIf(change -> numbers.contains(change.number));
        else batch.changes.removeAll(present);
    }

    private static void plan(
            UnitBuffer.Batch batch,
            Map<BacklogKey, RecordChange> before,
            List<WriteStep> steps,
            Map<BacklogKey, RecordChange> after) {
        if (batch.changes.isEmpty()) return;

        Unit unit = batch.buffer.unit;
        long low = Chunk.index(batch.changes.get(0).number);
        long high = Chunk.index(last(batch.changes).number);

        if (low < high || high != batch.buffer.knownHigh())
            before.putIfAbsent(unit.record(), RecordChange.span(low, high));

        after.put(unit.record(), RecordChange.span(low, high));

        int step = 0;

        for (int from = 0, to; from < batch.changes.size(); from = to, step++) {
            long index = Chunk.index(batch.changes.get(from).number);

            for (to = from + 1; to < batch.changes.size() && Chunk.index(batch.changes.get(to).number) == index; ) to++;

            if (step == steps.size()) steps.add(new WriteStep());

            steps.get(step)
                    .chunks
                    .put(unit.chunk(index), ChunkChange.add(Chunk.encode(batch.changes.subList(from, to))));

            if (index < high && index < batch.buffer.knownHigh())
                steps.get(step).late.put(unit.record(), RecordChange.span(index, index));
        }
    }

    private IgniteCache<BacklogKey, byte[]> cache() {
        return plugin.backlog(settings);
    }

    /** One chunk of each unit, written together; {@code late} spans those that are below existing chunks. */
    private static final class WriteStep {
        final SortedMap<BacklogKey, ChunkChange> chunks = new TreeMap<>();
        final SortedMap<BacklogKey, RecordChange> late = new TreeMap<>();
    }

    private static Change last(List<Change> changes) {
        return changes.get(changes.size() - 1);
    }
}
