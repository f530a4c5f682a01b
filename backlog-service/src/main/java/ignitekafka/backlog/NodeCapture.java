package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.UNAVAILABLE;

import ignitekafka.backlog.UnitBuffer.Held;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.affinity.AffinityTopologyVersion;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.persistence.DataRegion;
import org.apache.ignite.internal.util.typedef.internal.U;

/**
 * The capture of one connector on one node: bounded buffers that updating threads fill, and one thread that writes them
 * to the backlog cache.
 *
 * <p>A unit's primary node writes at once. Its backups keep what they captured for {@value #HOLD_MS} ms, then look
 * whether it is written, and write only what is not; when one becomes primary it does so with its next batch. So a
 * change costs one write, and is lost only when all owners of its partition die.
 *
 * <p>When a buffer's bound is reached, or the memory region is filled to {@value #REGION_FILL}, whole units are given
 * up: largest first, their changes are dropped and no more taken, and their records marked, until a reader takes over
 * to send them again.
 */
final class NodeCapture {
    private static final long HOLD_MS = 2_000;
    private static final double REGION_FILL = 0.8;

    /** Changes in one round of writing; bounds what is on its way to the cache. */
    private static final int ROUND_ENTRIES = 10_000;

    /** Part of the region in one round of writing: its fill is looked at before each. */
    private static final double ROUND_FILL = 1.0 / 64;

    private static final long RETRY_MS = 1_000;

    final ConnectorSettings settings;
    private final BacklogPlugin plugin;
    private final GridKernalContext ctx;
    private final BacklogWriter writer;
    private final Map<Unit, UnitBuffer> units = new ConcurrentHashMap<>();
    private final Set<UnitBuffer> dirty = ConcurrentHashMap.newKeySet();
    private final Map<UnitBuffer, Integer> marks = new ConcurrentHashMap<>();
    private final AtomicLong entries = new AtomicLong();
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicLong written = new AtomicLong();
    private final Thread thread;
    private volatile boolean closed;

    NodeCapture(BacklogPlugin plugin, ConnectorSettings settings) {
        this.plugin = plugin;
        this.settings = settings;
        ctx = plugin.context();
        writer = new BacklogWriter(plugin, settings);
        thread = new Thread(this::run, "backlog-" + settings.connector + '-' + ctx.igniteInstanceName());
        thread.setDaemon(true);
        thread.start();
    }

    UnitBuffer unit(GridCacheContext<?, ?> cache, Unit unit) {
        return units.computeIfAbsent(unit, one -> new UnitBuffer(one, cache.name()))
                .deployment(cache.dynamicDeploymentId());
    }

    void add(UnitBuffer unit, Change change) {
        added(unit, unit.add(change));
    }

    void addExpired(UnitBuffer unit, byte[] key) {
        added(unit, unit.addExpired(key, System.currentTimeMillis()));
    }

    private void added(UnitBuffer unit, long more) {
        if (more == 0 || closed) return;

        long count = entries.incrementAndGet();
        long total = bytes.addAndGet(more);

        dirty.add(unit);

        if (count > settings.bufferEntries || total > settings.bufferBytes) relieve();
        else if (settings.flushMs == 0 || count >= ROUND_ENTRIES && count % ROUND_ENTRIES == 0)
            LockSupport.unpark(thread);
    }

    /** Gives units up until the buffer is within its bounds again, the largest first: it costs the fewest units. */
    private void relieve() {
        synchronized (marks) {
            while (entries.get() > settings.bufferEntries || bytes.get() > settings.bufferBytes) {
                UnitBuffer largest = dirty.stream()
                        .max(Comparator.comparingLong(UnitBuffer::bytes))
                        .orElse(null);

                if (largest == null) return;

                giveUp(largest, UnitRecord.FULL, "the buffer of this node is full");
            }
        }
    }

    /** Drops what is held of a unit, takes no more, and has its record marked. */
    void giveUp(UnitBuffer unit, int mark, String reason) {
        if (!unit.givenUp())
            plugin.log()
                    .warning("Backlog of connector '" + settings.connector + "': changes of cache '" + unit.cache
                            + "', partition " + unit.unit.partition + " are given up, it must be sent again: "
                            + reason);

        unit.giveUp();
        dirty.remove(unit);
        done(unit.take());
        marks.merge(unit, mark, (one, other) -> one | other);
    }

    /**
     * Takes changes of a unit again, beginning with the next; those held are older than what its reader now sends.
     * Waits for what is being written: it would come after newer ones were dropped here, and count as the newest.
     */
    synchronized void resume(Unit unit) {
        UnitBuffer buffer = units.get(unit);

        if (buffer != null) {
            done(buffer.take());
            buffer.resume();
        }
    }

    /**
     * Writes what is due, or all that was captured before the call.
     *
     * @throws RuntimeException The cache refused some units, such as those of a lost partition; they are in the buffer
     *     again, the others are written.
     */
    synchronized void flush(boolean all) {
        if (!ctx.state().publicApiActiveState(false)) {
            if (all)
                throw new BacklogException(UNAVAILABLE, "the cluster is not active: what is held stays until it is");

            return;
        }

        if (fill() > REGION_FILL) dirty.forEach(this::giveUpForRegion);

        RuntimeException failure = null;

        for (Deque<UnitBuffer> due = new ArrayDeque<>(dirty); !due.isEmpty(); ) {
            List<UnitBuffer.Batch> batches = new ArrayList<>();

            try {
                collect(due, all, batches);

                RuntimeException refused = write(batches);

                failure = refused == null ? failure : refused;
            } finally {
                batches.stream().filter(batch -> !batch.settled).forEach(this::putBack);
            }
        }

        writeMarks();

        if (failure != null) throw failure;
    }

    /**
     * Writes batches together, and where that fails one by one, so that one bad partition stops no other; answers the
     * last failure, or null.
     */
    private RuntimeException write(List<UnitBuffer.Batch> batches) {
        try {
            writer.write(batches);

            for (UnitBuffer.Batch batch : batches) {
                batch.settled = true;
                done(batch);
                written.addAndGet(batch.taken);
            }

            return null;
        } catch (RuntimeException e) {
            if (batches.size() == 1) {
                putBack(batches.get(0));

                return e;
            }
        }

        RuntimeException failure = null;

        for (UnitBuffer.Batch batch : batches) {
            RuntimeException refused = write(List.of(batch));

            failure = refused == null ? failure : refused;
        }

        return failure;
    }

    private void putBack(UnitBuffer.Batch batch) {
        batch.settled = true;
        done(batch);
        batch.changes.forEach(change -> add(batch.buffer, change));
        batch.expired.forEach((key, timeMs) -> added(batch.buffer, batch.buffer.addExpired(key.array(), timeMs)));
    }

    private void writeMarks() {
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

    /**
     * Moves from {@code due} to {@code batches} what is to be written now, about {@value #ROUND_ENTRIES} entries, as
     * far as the region has room.
     */
    private void collect(Deque<UnitBuffer> due, boolean all, List<UnitBuffer.Batch> batches) {
        long nowMs = System.currentTimeMillis();
        double before = fill();
        double more = 0;

        for (int taken = 0; taken < ROUND_ENTRIES && more < ROUND_FILL && !due.isEmpty(); ) {
            UnitBuffer unit = due.poll();

            if (destroyed(unit)) {
                dirty.remove(unit);
                units.remove(unit.unit, unit);
                done(unit.take());

                continue;
            }

            ClusterNode primary = primary(unit);
            boolean here = primary != null && primary.isLocal();

            if (!here && unit.heldFor == null) unit.heldFor = primary == null ? ctx.localNodeId() : primary.id();

            if (!here && !all && nowMs - unit.oldestMs() < HOLD_MS) continue;

            more += fillOf(unit.bytes());

            if (before + more > REGION_FILL) {
                giveUpForRegion(unit);

                continue;
            }

            dirty.remove(unit);

            UnitBuffer.Batch batch = unit.take();

            if (unit.heldFor != null)
                batch.held = primary != null && primary.id().equals(unit.heldFor) ? Held.FOR_PRIMARY : Held.OVER_CHANGE;

            // Expiry is no update: while its primary lives, that one has told it.
            if (batch.held == Held.FOR_PRIMARY) batch.expired.clear();

            unit.heldFor = null;
            batches.add(batch);
            taken += batch.taken;
        }
    }

    /** The node that writes the unit, or null when that cannot be told. */
    private ClusterNode primary(UnitBuffer unit) {
        GridCacheContext<?, ?> cache = ctx.cache().context().cacheContext(unit.unit.cacheId);
        AffinityTopologyVersion version = ctx.cache().context().exchange().readyAffinityVersion();

        return cache == null ? null : cache.affinity().primaryByPartition(unit.unit.partition, version);
    }

    /**
     * Whether the cache of that incarnation is no more: what was captured of it is nobody's. One that was only
     * deactivated is the same.
     */
    private boolean destroyed(UnitBuffer unit) {
        DynamicCacheDescriptor cache = ctx.cache().cacheDescriptor(unit.cache);

        return cache == null || !cache.deploymentId().equals(unit.deployment());
    }

    /** Drops what is held of an incarnation that is captured no more, and the room for it. */
    synchronized void forget(int cacheId, long incarnation) {
        for (UnitBuffer unit : List.copyOf(units.values())) {
            if (unit.unit.cacheId == cacheId && unit.unit.incarnation == incarnation) {
                units.remove(unit.unit, unit);
                dirty.remove(unit);
                marks.remove(unit);
                done(unit.take());
            }
        }
    }

    private void giveUpForRegion(UnitBuffer unit) {
        giveUp(unit, UnitRecord.FULL, "region '" + settings.regionName + "' is filled to " + REGION_FILL);
    }

    /** How much of the region is in use on this node, 0 to 1. */
    double fill() {
        DataRegion region = region();

        return fillOf(region.metrics().getTotalUsedPages()
                * (long) region.pageMemory().systemPageSize());
    }

    private double fillOf(long used) {
        return (double) used / region().config().getMaxSize();
    }

    private DataRegion region() {
        try {
            return ctx.cache().context().database().dataRegion(settings.regionName);
        } catch (IgniteCheckedException e) {
            throw U.convertException(e);
        }
    }

    private void done(UnitBuffer.Batch batch) {
        entries.addAndGet(-batch.taken);
        bytes.addAndGet(-batch.bytes);
    }

    long bufferedEntries() {
        return entries.get();
    }

    long bufferedBytes() {
        return bytes.get();
    }

    /** Entries that this node wrote, or found written by another owner. */
    long writtenEntries() {
        return written.get();
    }

    void close() {
        closed = true;
        LockSupport.unpark(thread);
    }

    private void run() {
        while (!closed) {
            LockSupport.parkNanos((settings.flushMs == 0 ? HOLD_MS : settings.flushMs) * 1_000_000);

            try {
                if (!closed) flush(false);
            } catch (Throwable e) { // also an Error: without this thread nothing of the node is written any more
                if (closed) return;

                U.warn(
                        plugin.log(),
                        "The backlog of connector '" + settings.connector
                                + "' could not be written, will be tried again: " + e,
                        e);
                LockSupport.parkNanos(RETRY_MS * 1_000_000);
            }
        }
    }
}
