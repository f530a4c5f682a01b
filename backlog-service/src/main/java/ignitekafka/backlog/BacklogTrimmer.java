package ignitekafka.backlog;

import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.ignite.IgniteCache;

/** Removes acknowledged changes from the backlog of one connector. */
final class BacklogTrimmer {
    /** Maximum number of chunks that one acknowledgement searches for the new low end of a unit. */
    private static final int SEARCHED_CHUNKS = 1_024;

    private final IgniteCache<BacklogKey, byte[]> backlog;

    BacklogTrimmer(IgniteCache<BacklogKey, byte[]> backlog) {
        this.backlog = backlog;
    }

    void acknowledge(List<Acknowledgement> all) {
        SortedMap<BacklogKey, Acknowledgement> byRecord = new TreeMap<>();

        all.forEach(one -> byRecord.put(one.unit.record(), one));

        Map<BacklogKey, byte[]> records = backlog.getAll(byRecord.keySet());
        SortedMap<BacklogKey, RecordChange> changes = new TreeMap<>();

        removeChanges(byRecord);

        byRecord.forEach((key, one) -> {
            byte[] record = records.get(key);

            if (record != null) changes.put(key, recordChange(one, UnitRecord.decode(record)));
        });

        backlog.invokeAll(changes);
    }

    private void removeChanges(Map<BacklogKey, Acknowledgement> byRecord) {
        SortedMap<BacklogKey, ChunkChange> chunks = new TreeMap<>();
        SortedMap<BacklogKey, ExpiredKeys> expired = new TreeMap<>();

        byRecord.forEach((key, one) -> {
            if (one.expiredStamp > 0) expired.put(one.unit.expired(), ExpiredKeys.remove(one.expiredStamp));

            one.byChunk.forEach((index, changes) -> chunks.put(one.unit.chunk(index), ChunkChange.remove(changes)));
        });

        backlog.invokeAll(chunks);
        backlog.invokeAll(expired);
    }

    /** Searches the lowest chunk that remains after the removal, no higher than the acknowledged chunks. */
    private RecordChange recordChange(Acknowledgement one, UnitRecord record) {
        long low = record.low;
        long last = one.byChunk.isEmpty() ? low : one.byChunk.lastKey();

        for (int searched = 0;
                low < last && searched < SEARCHED_CHUNKS && !backlog.containsKey(one.unit.chunk(low));
                searched++) low++;

        return RecordChange.acknowledge(one.numbers, low, record.turn);
    }
}
