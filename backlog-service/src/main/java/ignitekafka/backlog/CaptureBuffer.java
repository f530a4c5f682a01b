package ignitekafka.backlog;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.internal.processors.cache.GridCacheContext;

/**
 * Changes of one connector that this node has captured and not yet written: a {@link UnitBuffer} for each unit, bounded
 * by entries and bytes, and together with the other captures of the node by {@link HeapBudget}.
 *
 * <p>When a bound is exceeded, whole units are given up, the largest first: their changes are dropped, new ones are not
 * captured, and their records are marked, until a reader sends the units again.
 */
final class CaptureBuffer {
    private final ConnectorSettings settings;
    private final HeapBudget heap;
    private final IgniteLogger log;
    private final long maxEntries;
    private final long maxBytes;
    private final Map<Unit, UnitBuffer> units = new ConcurrentHashMap<>();
    private final Set<UnitBuffer> dirty = ConcurrentHashMap.newKeySet();
    private final Map<UnitBuffer, Integer> marks = new ConcurrentHashMap<>();
    private final AtomicLong entries = new AtomicLong();
    private final AtomicLong bytes = new AtomicLong();

    CaptureBuffer(ConnectorSettings settings, CaptureLimits limits, HeapBudget heap, IgniteLogger log) {
        this.settings = settings;
        this.heap = heap;
        this.log = log;
        maxEntries = Math.min(settings.bufferEntries, limits.bufferEntries);
        maxBytes = Math.min(settings.bufferBytes, limits.bufferBytes);
        heap.add(this);
    }

    UnitBuffer unit(GridCacheContext<?, ?> cache, Unit unit) {
        return units.computeIfAbsent(unit, one -> new UnitBuffer(one, cache.name()))
                .deployment(cache.dynamicDeploymentId());
    }

    UnitBuffer unitOrNull(Unit unit) {
        return units.get(unit);
    }

    /** Units with unwritten changes; a live view. */
    Set<UnitBuffer> dirty() {
        return dirty;
    }

    long entries() {
        return entries.get();
    }

    long bytes() {
        return bytes.get();
    }

    /**
     * Counts an entry that was added to a unit, and gives up units if a bound is exceeded.
     *
     * @return Whether to start a round of writing now.
     */
    boolean added(UnitBuffer unit, long addedBytes) {
        long count = entries.incrementAndGet();
        long total = bytes.addAndGet(addedBytes);

        dirty.add(unit);

        if (count > maxEntries || total > maxBytes) {
            relieve();

            return false;
        }

        if (heap.isExceeded()) {
            heap.relieve();

            return false;
        }

        boolean halfFull = total > maxBytes / 2 && total - addedBytes <= maxBytes / 2;

        return settings.flushMs == 0 || halfFull || count >= WriteRound.ENTRIES && count % WriteRound.ENTRIES == 0;
    }

    /** Subtracts a batch that left the buffer. */
    void removed(UnitBuffer.Batch batch) {
        entries.addAndGet(-batch.entries);
        bytes.addAndGet(-batch.bytes);
    }

    /** Gives up units until the buffer is within its bounds; the largest first, which costs the fewest units. */
    private synchronized void relieve() {
        while (entries.get() > maxEntries || bytes.get() > maxBytes) {
            if (!giveUpLargest("the buffer of this node is full")) return;
        }
    }

    /** Gives up the unit with the most bytes; returns false if no unit has unwritten changes. */
    synchronized boolean giveUpLargest(String reason) {
        UnitBuffer largest =
                dirty.stream().max(Comparator.comparingLong(UnitBuffer::bytes)).orElse(null);

        if (largest == null) return false;

        giveUp(largest, reason);

        return true;
    }

    /** Drops the changes of a unit, captures no further ones, and schedules the mark of its record. */
    void giveUp(UnitBuffer unit, String reason) {
        if (!unit.givenUp())
            log.warning("Backlog of connector '" + settings.connector + "': changes of cache '" + unit.cache
                    + "', partition " + unit.unit.partition + " are given up and the partition must be sent again: "
                    + reason);

        unit.giveUp();
        dirty.remove(unit);
        removed(unit.drain());
        marks.merge(unit, UnitRecord.GIVEN_UP, (one, other) -> one | other);
    }

    /** Marks the records of the units that were given up. */
    void writeMarks(BacklogWriter writer) {
        for (UnitBuffer unit : marks.keySet()) {
            Integer mark = marks.remove(unit);

            try {
                writer.mark(unit.unit, mark);
            } catch (RuntimeException e) {
                marks.merge(unit, mark, (one, other) -> one | other);

                throw e;
            }
        }
    }

    /** Drops the changes of a unit and the unit itself. */
    void remove(UnitBuffer unit) {
        dirty.remove(unit);
        units.remove(unit.unit, unit);
        removed(unit.drain());
    }

    /** Drops an incarnation that is no longer captured. */
    void forget(int cacheId, long incarnation) {
        for (UnitBuffer unit : new ArrayList<>(units.values())) {
            if (unit.unit.cacheId == cacheId && unit.unit.incarnation == incarnation) {
                remove(unit);
                marks.remove(unit);
            }
        }
    }
}
