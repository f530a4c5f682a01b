package ignitekafka.backlog;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.internal.processors.cache.GridCacheContext;

/**
 * Changes of one connector that this node has captured and not yet written: a {@link UnitBuffer} for each unit, bounded
 * by entries and bytes.
 *
 * <p>When a bound is exceeded, whole units are given up, the largest first: their changes are dropped, new ones are not
 * captured, and their records are marked, until a reader sends the units again.
 */
final class CaptureBuffer {
    private final ConnectorSettings settings;
    private final IgniteLogger log;
    private final Map<Unit, UnitBuffer> units = new ConcurrentHashMap<>();
    private final Set<UnitBuffer> dirty = ConcurrentHashMap.newKeySet();
    private final Map<UnitBuffer, Integer> marks = new ConcurrentHashMap<>();
    private final AtomicLong entries = new AtomicLong();
    private final AtomicLong bytes = new AtomicLong();

    CaptureBuffer(ConnectorSettings settings, IgniteLogger log) {
        this.settings = settings;
        this.log = log;
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

        if (count > settings.bufferEntries || total > settings.bufferBytes) {
            relieve();

            return false;
        }

        return settings.flushMs == 0 || count >= WriteRound.ENTRIES && count % WriteRound.ENTRIES == 0;
    }

    /** Subtracts a batch that left the buffer. */
    void removed(UnitBuffer.Batch batch) {
        entries.addAndGet(-batch.entries);
        bytes.addAndGet(-batch.bytes);
    }

    /** Gives up units until the buffer is within its bounds; the largest first, which costs the fewest units. */
    private synchronized void relieve() {
        while (entries.get() > settings.bufferEntries || bytes.get() > settings.bufferBytes) {
            UnitBuffer largest = dirty.stream()
                    .max(Comparator.comparingLong(UnitBuffer::bytes))
                    .orElse(null);

            if (largest == null) return;

            giveUp(largest, "the buffer of this node is full");
        }
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
        for (UnitBuffer unit : List.copyOf(units.values())) {
            if (unit.unit.cacheId == cacheId && unit.unit.incarnation == incarnation) {
                remove(unit);
                marks.remove(unit);
            }
        }
    }
}
