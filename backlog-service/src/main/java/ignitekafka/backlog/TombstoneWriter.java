package ignitekafka.backlog;

import java.util.concurrent.locks.LockSupport;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.affinity.AffinityTopologyVersion;

/** The thread of a node that stores the {@link Tombstones} of its caches. */
final class TombstoneWriter {
    private static final long INTERVAL_MS = 100;
    private static final long RETRY_MS = 1_000;

    private final BacklogPlugin plugin;
    private volatile boolean stopped;
    private volatile Thread thread;

    TombstoneWriter(BacklogPlugin plugin) {
        this.plugin = plugin;
    }

    void start() {
        thread = new Thread(this::run, "tombstones-" + plugin.context().igniteInstanceName());

        thread.setDaemon(true);
        thread.start();
    }

    /** Ends the thread also where it waits for a new cache: a node that is cut off would else never stop. */
    void stop() {
        stopped = true;

        if (thread != null) thread.interrupt();
    }

    /** Stores what is due, or everything. */
    void flush(boolean all) {
        plugin.shared().values().forEach(cache -> cache.tombstones().flush(all));
    }

    /** Destroys side caches whose cache was destroyed; on the oldest node. */
    private void destroyUnused() {
        GridKernalContext ctx = plugin.context();

        if (!ctx.state().publicApiActiveState(false)
                || !ctx.localNodeId()
                        .equals(ctx.discovery()
                                .oldestAliveServerNode(AffinityTopologyVersion.NONE)
                                .id())) return;

        for (String name : plugin.activeActive().caches) {
            if (ctx.cache().cacheDescriptor(name) == null
                    && ctx.cache().cacheDescriptor(Tombstones.PREFIX + name) != null)
                ctx.grid().destroyCache(Tombstones.PREFIX + name);
        }
    }

    private void run() {
        while (!stopped) {
            long pauseMs = INTERVAL_MS;

            try {
                flush(false);
                destroyUnused();
            } catch (RuntimeException e) {
                if (stopped) return;

                plugin.log().warning("Versions of removed keys could not be stored; retrying", e);
                pauseMs = RETRY_MS;
            }

            LockSupport.parkNanos(pauseMs * 1_000_000);
        }
    }
}
