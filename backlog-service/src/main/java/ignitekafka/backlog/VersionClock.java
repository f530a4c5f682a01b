package ignitekafka.backlog;

import java.io.IOException;
import java.util.concurrent.locks.LockSupport;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersionManager;

/**
 * Makes the counter from which Ignite takes the order of a node's writes a hybrid logical clock: near to the time of
 * day, and above each order that the node has stored. So writes of several clusters compare by time, and a write of
 * this cluster has a greater order than the one that it replaces, even if the clock of another cluster is ahead.
 *
 * <p>The order is the time in milliseconds, shifted left by {@value #SHIFT} bits, plus a count. Nodes of a cluster take
 * over each other's highest order whenever a node joins or leaves, before partitions move (Ignite's exchange). For a
 * restart of all nodes, also with a clock that was set back meanwhile, each persistent node keeps its order in
 * {@link StoredOrder}, with a reserve of {@value #RESERVE_MS} ms: so it is written once in half of this time.
 */
final class VersionClock {
    /** An order from which on none is stored: no count reaches it from a possible time. */
    static final long END = 1L << 60;

    /** The same for writes of other clusters, whose order the clock takes over: it must be able to go on from there. */
    static final long FOREIGN_END = END / 2;

    static final int SHIFT = 16;

    private static final long TICK_MS = 5;

    /** Less than the restart of a node takes, after which the clock would be ahead by the rest of it. */
    private static final long RESERVE_MS = 4_000;

    private final GridKernalContext ctx;
    private volatile GridCacheVersionManager versions;
    private volatile long restored;
    private volatile long stored;
    private volatile boolean stopped;
    private StoredOrder kept;
    private boolean isFailing;

    VersionClock(GridKernalContext ctx) {
        this.ctx = ctx;
    }

    /** The lowest order of a time. */
    static long order(long timeMs) {
        return timeMs << SHIFT;
    }

    void start() {
        StoredOrder file = StoredOrder.of(ctx);

        versions = ctx.cache().context().versions();
        restored = stored = file.read();
        raise(Math.max(stored, order(System.currentTimeMillis())));
        kept = file;
        repeat("version-clock-", () -> raise(order(System.currentTimeMillis())), TICK_MS);

        // another thread, because the disk may be slow
        if (kept.isKept()) repeat("version-clock-file-", this::reserve, RESERVE_MS / 8);
    }

    private void repeat(String name, Runnable what, long pauseMs) {
        Runnable all = () -> {
            while (!stopped) {
                what.run();
                LockSupport.parkNanos(pauseMs * 1_000_000);
            }
        };
        Thread thread = new Thread(all, name + ctx.igniteInstanceName());

        thread.setDaemon(true);
        thread.start();
    }

    void stop() {
        stopped = true;

        if (kept != null && kept.isKept()) store();
    }

    /** Makes all later writes of this node greater than an order. */
    void raise(long order) {
        versions.onReceived(ctx.localNodeId(), order);
    }

    /** The greatest order of this node. */
    long order() {
        return versions.localOrder();
    }

    /** The order that was stored when the node started; 0 if none was. */
    long restored() {
        return restored;
    }

    /** Whether the order would survive a restart of all nodes. */
    boolean isStored() {
        return order() < stored;
    }

    private void reserve() {
        if (order() >= stored - order(RESERVE_MS / 2)) store();
    }

    private synchronized void store() {
        long wanted = order() + order(RESERVE_MS);

        try {
            kept.write(wanted);
            stored = wanted;
            isFailing = false;
        } catch (IOException e) {
            if (!isFailing)
                ctx.log(VersionClock.class)
                        .warning(
                                "The order of versions could not be stored; it is tried again. Until then, writes after"
                                        + " a restart of all nodes could be older than what they replace, if clocks are"
                                        + " set back",
                                e);

            isFailing = true;
        }
    }
}
