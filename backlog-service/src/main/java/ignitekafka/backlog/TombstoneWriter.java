package ignitekafka.backlog;

import java.util.concurrent.locks.LockSupport;

/** The thread of a node that stores the {@link Tombstones} of its caches. */
final class TombstoneWriter {
    private static final long INTERVAL_MS = 100;
    private static final long RETRY_MS = 1_000;

    private final BacklogPlugin plugin;
    private volatile boolean stopped;

    TombstoneWriter(BacklogPlugin plugin) {
        this.plugin = plugin;
    }

    void start() {
        Thread thread = new Thread(this::run, "tombstones-" + plugin.context().igniteInstanceName());

        thread.setDaemon(true);
        thread.start();
    }

    void stop() {
        stopped = true;
    }

    /** Stores what is due, or everything. */
    void flush(boolean all) {
        plugin.shared().values().forEach(cache -> cache.tombstones().flush(all));
    }

    private void run() {
        while (!stopped) {
            long pauseMs = INTERVAL_MS;

            try {
                flush(false);
            } catch (RuntimeException e) {
                if (stopped) return;

                plugin.log().warning("Versions of removed keys could not be stored; retrying", e);
                pauseMs = RETRY_MS;
            }

            LockSupport.parkNanos(pauseMs * 1_000_000);
        }
    }
}
