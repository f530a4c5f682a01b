package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.UNAVAILABLE;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.util.typedef.internal.U;

/**
 * The capture of one connector on one node: a {@link CaptureBuffer} that updating threads fill, and one thread that
 * writes it to the backlog cache, in rounds that {@link WriteRound} selects.
 */
final class NodeCapture {
    static final long RETRY_MS = 1_000;

    final ConnectorSettings settings;
    private final BacklogPlugin plugin;
    private final GridKernalContext ctx;
    private final BacklogWriter writer;
    private final CaptureBuffer buffer;
    private final long flushMs;
    private final RegionFill region;
    private final WriteRound round;
    private final AtomicLong written = new AtomicLong();
    private final Thread thread;
    private volatile boolean closed;

    NodeCapture(BacklogPlugin plugin, ConnectorSettings settings) {
        this.plugin = plugin;
        this.settings = settings;
        ctx = plugin.context();
        writer = new BacklogWriter(plugin, settings);
        buffer = new CaptureBuffer(settings, plugin.limits(), plugin.heap(), plugin.log());
        flushMs = Math.min(settings.flushMs, plugin.limits().flushMs);
        region = new RegionFill(ctx, settings.regionName);
        round = new WriteRound(ctx, buffer, region, settings.regionName);
        thread = new Thread(this::run, "backlog-" + settings.connector + '-' + ctx.igniteInstanceName());
        thread.setDaemon(true);
        thread.start();
    }

    UnitBuffer unit(GridCacheContext<?, ?> cache, Unit unit) {
        return buffer.unit(cache, unit);
    }

    void add(UnitBuffer unit, Change change) {
        added(unit, unit.add(change));
    }

    void addExpired(UnitBuffer unit, byte[] key) {
        added(unit, unit.addExpired(key, System.currentTimeMillis()));
    }

    private void added(UnitBuffer unit, long bytes) {
        if (bytes == 0 || closed) return;

        if (buffer.added(unit, bytes)) LockSupport.unpark(thread);
    }

    /** Drops the changes of a unit and captures no further ones; its record will be marked. */
    void giveUp(UnitBuffer unit, String reason) {
        buffer.giveUp(unit, reason);
    }

    /**
     * Captures changes of a unit again, beginning with the next one; drops older ones, which its reader now sends from
     * the cache. Waits for a running write: its changes would otherwise arrive after newer ones were dropped here, and
     * count as the newest.
     */
    synchronized void resume(Unit unit) {
        UnitBuffer resumed = buffer.unitOrNull(unit);

        if (resumed != null) {
            buffer.removed(resumed.drain());
            resumed.resume();
        }
    }

    /** Drops what is held of an incarnation that is no longer captured. */
    synchronized void forget(int cacheId, long incarnation) {
        buffer.forget(cacheId, incarnation);
    }

    /**
     * Writes what is due, or everything that was captured before the call.
     *
     * @throws RuntimeException The cache refused some units, for example of a lost partition. Their changes are in the
     *     buffer again; the other units are written.
     */
    synchronized void flush(boolean all) {
        if (!ctx.state().publicApiActiveState(false)) {
            if (all)
                throw new BacklogException(
                        UNAVAILABLE, "the cluster is not active; captured changes stay in memory until it is");

            return;
        }

        round.relieveRegion();

        RuntimeException failure = null;

        for (Deque<UnitBuffer> due = new ArrayDeque<>(buffer.dirty()); !due.isEmpty(); ) {
            List<UnitBuffer.Batch> batches = new ArrayList<>();

            try {
                round.collect(due, all, batches);

                RuntimeException refused = write(batches);

                failure = refused == null ? failure : refused;
            } finally {
                batches.stream().filter(batch -> !batch.settled).forEach(this::putBack);
            }
        }

        buffer.writeMarks(writer);

        if (failure != null) throw failure;
    }

    /**
     * Writes batches together, or one by one if that fails, so that a bad partition does not block the others. Returns
     * the last failure, or null.
     */
    private RuntimeException write(List<UnitBuffer.Batch> batches) {
        try {
            writer.write(batches);

            for (UnitBuffer.Batch batch : batches) {
                batch.settled = true;
                buffer.removed(batch);
                written.addAndGet(batch.entries);
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
            RuntimeException refused = write(Collections.singletonList(batch));

            failure = refused == null ? failure : refused;
        }

        return failure;
    }

    private void putBack(UnitBuffer.Batch batch) {
        batch.settled = true;
        buffer.removed(batch);
        batch.changes.forEach(change -> add(batch.buffer, change));
        batch.expired.forEach((key, timeMs) -> added(batch.buffer, batch.buffer.addExpired(key.array(), timeMs)));
    }

    long bufferedEntries() {
        return buffer.entries();
    }

    long bufferedBytes() {
        return buffer.bytes();
    }

    /** Entries that this node wrote, or found written by another owner. */
    long writtenEntries() {
        return written.get();
    }

    /** The fraction of the memory region that is in use on this node. */
    double regionFill() {
        return region.used();
    }

    void close() {
        closed = true;
        plugin.heap().remove(buffer);
        LockSupport.unpark(thread);
    }

    private void run() {
        while (!closed) {
            LockSupport.parkNanos((flushMs == 0 ? WriteRound.HOLD_MS : flushMs) * 1_000_000);

            try {
                if (!closed) flush(false);
            } catch (Throwable e) { // an Error too: without this thread, nothing on this node is written any more
                if (closed) return;

                U.warn(
                        plugin.log(),
                        "The backlog of connector '" + settings.connector + "' could not be written; retrying: " + e,
                        e);
                pauseAfterFailure();
            }
        }
    }

    /**
     * Waits whatever changes arrive: each wakes this thread if the flush interval is 0, and so does a batch that was
     * put back.
     */
    private void pauseAfterFailure() {
        long until = System.nanoTime() + RETRY_MS * 1_000_000;

        for (long left = RETRY_MS * 1_000_000; left > 0 && !closed; left = until - System.nanoTime())
            LockSupport.parkNanos(left);
    }
}
