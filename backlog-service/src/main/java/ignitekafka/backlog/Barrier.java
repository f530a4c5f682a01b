package ignitekafka.backlog;

import java.util.TreeSet;
import org.apache.ignite.internal.GridKernalContext;

/** Makes all nodes write what they captured before a call. */
final class Barrier {
    private Barrier() {
        // Static methods only.
    }

    /**
     * Returns once everything captured before the call is in the backlog, and versions of removed keys of the captured
     * caches are in theirs.
     */
    static void await(GridKernalContext ctx, Connector connector) {
        String name = connector.settings.connector;
        TreeSet<String> caches = new TreeSet<>(connector.caches());

        flush(ctx, name, caches, false); // primaries first: backups then find their changes already written
        flush(ctx, name, caches, true);
    }

    private static void flush(GridKernalContext ctx, String connector, TreeSet<String> caches, boolean all) {
        NodeJob.broadcast(ctx, node -> {
            NodeCapture capture = node.captureOrNull(connector);

            if (capture != null) capture.flush(all);

            for (String cache : caches) {
                SharedCache shared = node.shared().get(cache);

                if (shared != null) shared.tombstones().flush(all);
            }

            return null;
        });
    }
}
