package ignitekafka.backlog;

import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.ignite.lang.IgniteUuid;

/**
 * Changes of one unit that this node has captured and not written yet. For many threads; what only the writer uses is
 * said so.
 */
final class UnitBuffer {
    final Unit unit;
    final String cache;

    /** Of the cache, as the last filter of that incarnation saw it. */
    private volatile IgniteUuid deployment;

    private Set<Change> changes = new HashSet<>();
    private Map<ByteBuffer, Long> expired = new LinkedHashMap<>();
    private long bytes;
    private long oldestMs;
    private boolean givenUp;

    /** For the writer: whether changes were held back here while another node was the unit's primary, and which one. */
    UUID heldFor;

    /** For the writer: the unit's record knows of chunks up to this one. */
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

    /** Answers the bytes that it holds more now; 0 when there was nothing to do. */
    synchronized long add(Change change) {
        if (givenUp || !changes.add(change)) return 0;

        return held(change.heapBytes(), change.timeMs);
    }

    /** Answers the bytes that it holds more now; 0 when there was nothing to do. */
    synchronized long addExpired(byte[] key, long timeMs) {
        if (givenUp || expired.put(ByteBuffer.wrap(key), timeMs) != null) return 0;

        return held(Change.OVERHEAD_BYTES + key.length, timeMs);
    }

    private long held(long more, long timeMs) {
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

    /** Takes all that is held, changes in ascending order. */
    synchronized Batch take() {
        Batch batch = new Batch(this, Chunk.ascending(changes), expired, bytes);

        changes = new HashSet<>();
        expired = new LinkedHashMap<>();
        bytes = 0;

        return batch;
    }

    /** Takes nothing more until {@link #resume()}. */
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

    /** Where changes were captured that are written now. */
    enum Held {
        /** By the unit's primary node: not written yet. */
        NOT,

        /**
         * By a backup, while one other node has been primary ever since: that one writes each number, with what counts
         * for the cache.
         */
        FOR_PRIMARY,

        /** By a backup, and the primary node is another one since: contents count, not numbers. */
        OVER_CHANGE
    }

    /** What was taken at one time. */
    static final class Batch {
        final UnitBuffer buffer;
        final List<Change> changes;
        final Map<ByteBuffer, Long> expired;
        final long bytes;

        /** How many entries were taken; some may be dropped before the write. */
        final int taken;

        /** Whom else these may have been written by. */
        Held held = Held.NOT;

        /** Written, or in the buffer again. */
        boolean settled;

        Batch(UnitBuffer buffer, List<Change> changes, Map<ByteBuffer, Long> expired, long bytes) {
            this.buffer = buffer;
            this.changes = changes;
            this.expired = expired;
            this.bytes = bytes;
            taken = changes.size() + expired.size();
        }
    }
}
