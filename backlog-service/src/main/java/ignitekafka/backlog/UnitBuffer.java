package ignitekafka.backlog;

import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.ignite.lang.IgniteUuid;

/** Changes of one unit that this node has captured and not yet written. Thread-safe, except for the writer's fields. */
final class UnitBuffer {
    final Unit unit;
    final String cache;

    /** Deployment id of the cache, from the last filter of this incarnation. */
    private volatile IgniteUuid deployment;

    private Set<Change> changes = new HashSet<>();
    private Map<ByteBuffer, Long> expired = new LinkedHashMap<>();
    private long bytes;
    private long oldestMs;
    private boolean givenUp;

    /** Used by the writer only: the primary node for which changes are held here, or null if none are. */
    UUID heldFor;

    /** Used by the writer only: the highest chunk that the unit's record is known to span. */
    private volatile long knownHigh = -1;

    UnitBuffer(Unit unit, String cache) {
        this.unit = unit;
        this.cache = cache;
    }

    IgniteUuid deployment() {
        return deployment;
    }

    UnitBuffer deployment(IgniteUuid id) {
        deployment = id;

        return this;
    }

    /** Adds a change; returns the bytes added, 0 for a duplicate and for a unit that is given up. */
    synchronized long add(Change change) {
        if (givenUp || !changes.add(change)) return 0;

        return added(change.heapBytes(), change.timeMs);
    }

    /** Adds an expired key; returns the bytes added, 0 for a duplicate and for a unit that is given up. */
    synchronized long addExpired(byte[] key, long timeMs) {
        if (givenUp || expired.put(ByteBuffer.wrap(key), timeMs) != null) return 0;

        return added(Change.OVERHEAD_BYTES + key.length, timeMs);
    }

    private long added(long more, long timeMs) {
        if (bytes == 0) oldestMs = timeMs;

        bytes += more;

        return more;
    }

    synchronized long bytes() {
        return bytes;
    }

    synchronized long oldestMs() {
        return oldestMs;
    }

    synchronized boolean givenUp() {
        return givenUp;
    }

    /** Removes and returns all changes, in ascending order. */
    synchronized Batch drain() {
        Batch batch = new Batch(this, Chunk.ascending(changes), expired, bytes);

        changes = new HashSet<>();
        expired = new LinkedHashMap<>();
        bytes = 0;

        return batch;
    }

    /** Refuses further changes until {@link #resume()}. */
    synchronized void giveUp() {
        givenUp = true;
    }

    synchronized void resume() {
        givenUp = false;
        knownHigh = -1;
    }

    long knownHigh() {
        return knownHigh;
    }

    void knownHigh(long chunk) {
        knownHigh = Math.max(knownHigh, chunk);
    }

    /** Which node captured the changes of a batch, and so which of them may be written already. */
    enum Held {
        /** Captured by the unit's primary node: not written yet. */
        NOT,

        /**
         * Captured by a backup while one other node was primary throughout: that node writes each number, with the
         * content that the cache keeps.
         */
        FOR_PRIMARY,

        /** Captured by a backup before the primary changed: changes are compared by content, not by number. */
        PRIMARY_CHANGED
    }

    /** Changes that were drained together. */
    static final class Batch {
        final UnitBuffer buffer;
        final List<Change> changes;
        final Map<ByteBuffer, Long> expired;
        final long bytes;

        /** Count of drained entries; some may be dropped before the write. */
        final int entries;

        Held held = Held.NOT;

        /** Whether the batch was written or put back. */
        boolean settled;

        Batch(UnitBuffer buffer, List<Change> changes, Map<ByteBuffer, Long> expired, long bytes) {
            this.buffer = buffer;
            this.changes = changes;
            this.expired = expired;
            this.bytes = bytes;
            entries = changes.size() + expired.size();
        }
    }
}
