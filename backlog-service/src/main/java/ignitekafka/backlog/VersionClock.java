package ignitekafka.backlog;

import java.util.concurrent.locks.LockSupport;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteInternalFuture;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersionManager;
import org.apache.ignite.internal.processors.metastorage.DistributedMetastorageLifecycleListener;
import org.apache.ignite.internal.processors.metastorage.ReadableDistributedMetaStorage;

/**
 * Makes the counter from which Ignite takes the order of a node's writes a hybrid logical clock: near to the time of
 * day, and above each order that the node has stored. So writes of several clusters compare by time, and a write of
 * this cluster has a greater order than the one that it replaces, even if the clock of another cluster is ahead.
 *
 * <p>The order is the time in milliseconds, shifted left by {@value #SHIFT} bits, plus a count. Nodes of a cluster take
 * over each other's highest order whenever a node joins or leaves, before partitions move (Ignite's exchange). For a
 * restart of all nodes, an order that is ahead of the time of day is kept in the distributed metastorage, with a
 * reserve: it is written once in {@value #RESERVE_MS} ms.
 */
final class VersionClock implements DistributedMetastorageLifecycleListener {
    /** An order from which on none is stored: no count reaches it from a possible time. */
    static final long END = 1L << 60;

    /** The same for writes of other clusters, whose order the clock takes over: it must be able to go on from there. */
    static final long FOREIGN_END = END / 2;

    static final int SHIFT = 16;

    private static final String KEY = "ignite-kafka.version-clock";
    private static final long TICK_MS = 5;
    private static final long RESERVE_MS = 60_000;

    private final GridKernalContext ctx;
    private volatile GridCacheVersionManager versions;
    private volatile long stored;
    private volatile boolean stopped;
    private IgniteInternalFuture<?> write;

    VersionClock(GridKernalContext ctx) {
        this.ctx = ctx;
    }

    /** The lowest order of a time. */
    static long order(long timeMs) {
        return timeMs << SHIFT;
    }

    @Override
    public void onReadyForRead(ReadableDistributedMetaStorage storage) {
        stored = read(storage);

        if (versions != null) raise(stored);
    }

    void start() {
        versions = ctx.cache().context().versions();
        raise(Math.max(stored, order(System.currentTimeMillis())));

        Thread thread = new Thread(this::run, "version-clock-" + ctx.igniteInstanceName());

        thread.setDaemon(true);
        thread.start();
    }

    void stop() {
        stopped = true;
    }

    /** Makes all later writes of this node greater than an order. */
    void raise(long order) {
        versions.onReceived(ctx.localNodeId(), order);
    }

    /** The greatest order of this node. */
    long order() {
        return versions.localOrder();
    }

    /** Whether the order would survive a restart of all nodes. */
    boolean isStored() {
        return order() < Math.max(read(ctx.distributedMetastorage()), order(System.currentTimeMillis()));
    }

    private void run() {
        while (!stopped) {
            raise(order(System.currentTimeMillis()));
            reserve();
            LockSupport.parkNanos(TICK_MS * 1_000_000);
        }
    }

    private void reserve() {
        long order = order();
        boolean isAhead = order > order(System.currentTimeMillis() + 1_000);

        if (!isAhead || order < stored - order(RESERVE_MS / 2) || write != null && !write.isDone()) return;

        if (stopped || !ctx.state().publicApiActiveState(false)) return;

        long wanted = order + order(RESERVE_MS);

        try {
            if (read(ctx.distributedMetastorage()) < wanted)
                write = ctx.distributedMetastorage().writeAsync(KEY, wanted);

            stored = wanted;
        } catch (IgniteCheckedException e) {
            ctx.log(VersionClock.class)
                    .warning(
                            "The order of versions could not be stored; after a restart of all nodes, writes could be"
                                    + " older than what they replace",
                            e);
        }
    }

    private static long read(ReadableDistributedMetaStorage storage) {
        try {
            Long order = storage.read(KEY);

            return order == null ? 0 : order;
        } catch (IgniteCheckedException e) {
            throw new BacklogException(
                    BacklogException.Code.UNAVAILABLE, "the order of versions could not be read: " + e.getMessage(), e);
        }
    }
}
