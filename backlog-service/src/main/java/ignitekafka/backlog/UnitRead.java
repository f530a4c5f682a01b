package ignitekafka.backlog;

import java.util.ArrayList;
import java.util.List;

/** What one read found of one unit; {@link BacklogReader} fills it. */
final class UnitRead {
    /** Mark, in answers only: the cache has another incarnation now, or is no longer captured. */
    private static final int GONE = 8;

    final Unit unit;
    final List<Change> changes = new ArrayList<>();

    /** The unit's record, or null if it was not read or the unit is gone. */
    UnitRecord record;

    /** The unit's {@link ExpiredKeys} as stored, or null for none. */
    byte[] expired;

    /** The highest stamp of the expired keys among the changes, or 0. */
    long stamp;

    /** Whether chunks were searched. */
    boolean searched;

    /** Whether the cache has another incarnation now, or is no longer captured. */
    boolean gone;

    /** Whether {@link AnswerLimit} removed the last changes. */
    boolean cut;

    /** The lowest chunk that was searched, and the next one to search. */
    private long low;

    private long next;

    UnitRead(Unit unit) {
        this.unit = unit;
    }

    /** Sets the record; the search begins at its lowest chunk. */
    void start(UnitRecord read) {
        record = read;
        low = next = read.low;
    }

    /**
     * Starts the search again, without the changes found so far, if chunks were written below those that were searched.
     */
    boolean restart(byte[] bytes) {
        UnitRecord now = bytes == null ? record : UnitRecord.decode(bytes);

        if (now.low >= low) return false;

        start(now);
        changes.clear();

        return true;
    }

    /** The lowest chunk that was not searched yet. */
    long next() {
        return next;
    }

    /** The last chunk of a window of so many, from {@link #next()} on. */
    long lastOf(int chunks) {
        return Math.min(record.high, next + chunks - 1);
    }

    void searchedTo(long chunk) {
        searched = true;
        next = chunk + 1;
    }

    /** Whether chunks are left to search. */
    boolean hasChunks() {
        return record != null && next <= record.high;
    }

    /** Whether the unit may have chunks or expired keys. */
    boolean mayHaveChanges() {
        return expired != null || hasChunks();
    }

    /** Whether the unit has more than its changes here. */
    boolean more() {
        return cut || !searched || hasChunks();
    }

    int marks() {
        return (gone ? GONE : 0) | (record == null ? 0 : record.marks);
    }

    /** Bytes of keys and values. */
    long bytes() {
        return changes.stream()
                .mapToLong(change -> change.key.length + Math.max(0, change.valueLength()))
                .sum();
    }

    /** Adds the expired keys once all changes of the unit were read. */
    void addExpired() {
        if (expired == null || more() || gone) return;

        ExpiredKeys.decode(expired).forEach((key, stampAndTime) -> {
            stamp = Math.max(stamp, stampAndTime[0]);
            changes.add(new Change(-1, stampAndTime[1], Change.EXPIRED, key.array(), null));
        });
    }
}
