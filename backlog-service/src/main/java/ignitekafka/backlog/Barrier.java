package ignitekafka.backlog;

import org.apache.ignite.internal.GridKernalContext;

/** Makes all nodes write what they captured before a call. */
final class Barrier {
    private Barrier() {
        // Static methods only.
    }

    /**
     * Returns once everything captured before the call is in the backlog, and versions of removed keys in their caches.
     */
    static void await(GridKernalContext ctx, String connector) {
        flush(ctx, connector, false); // primaries first: backups then find their changes already written
        flush(ctx, connector, true);
    }

    private static void flush(GridKernalContext ctx, String connector, boolean all) {
        NodeJob.broadcast(ctx, node -> {
            NodeCapture capture = node.captureOrNull(connector);

            if (capture != null) capture.flush(all);

            node.flushTombstones(all);

            return null;
        });
    }
}
