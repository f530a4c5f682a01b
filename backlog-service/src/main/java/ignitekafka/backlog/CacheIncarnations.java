package ignitekafka.backlog;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;
import org.apache.ignite.internal.util.typedef.internal.CU;

/**
 * Assigns incarnations to captured caches. A cache gets a new incarnation, and its units new records, when its capture
 * begins, when it was created again under its name, and when it was emptied while nothing captured it.
 */
final class CacheIncarnations {
    private final BacklogPlugin plugin;
    private final GridKernalContext ctx;

    CacheIncarnations(BacklogPlugin plugin) {
        this.plugin = plugin;
        ctx = plugin.context();
    }

    /**
     * Returns the connector with an incarnation for the present deployment of the cache; unchanged if there is no such
     * cache.
     *
     * @param ended As {@link ServiceLiveness#ended} returns.
     */
    Connector prepare(Connector before, String cache, Set<String> ended) {
        String deployment = deployment(ctx, cache);

        if (deployment == null) return before;

        boolean known = deployment.equals(before.deployment(cache));
        UpdateCounters counters = new UpdateCounters(plugin);

        if (known
                && !(ServiceLiveness.isUncaptured(before, cache, ended)
                        && counters.wasEmptiedByDeactivation(before, cache))) return before;

        boolean same = !known
                && before.deployment(cache) != null
                && ended.containsAll(before.registered(cache))
                && counters.survivedRestart(before, cache);
        int partitions = partitions(ctx, cache);
        Connector after = plugin.registry()
                .update(
                        before.settings.connector,
                        present -> present.incarnation(cache) != before.incarnation(cache)
                                ? present
                                : present.deployed(cache, deployment, partitions, same));

        if (!same) {
            forget(before, cache);
            createRecords(after, cache);
        }

        return after;
    }

    /**
     * Removes everything that nodes and backlog hold of the cache's incarnation, if it has one. The cache itself may no
     * longer exist.
     */
    void forget(Connector connector, String cache) {
        String name = connector.settings.connector;
        int cacheId = CU.cacheId(cache);
        long incarnation = connector.incarnation(cache);

        if (incarnation == 0) return;

        NodeJob.broadcast(ctx, node -> {
            NodeCapture capture = node.captureOrNull(name);

            if (capture != null) capture.forget(cacheId, incarnation);

            return null;
        });

        BacklogWriter writer = new BacklogWriter(plugin, connector.settings);

        for (int partition = 0; partition < connector.partitions(cache); partition++)
            writer.forget(connector.unit(cache, partition));
    }

    private void createRecords(Connector connector, String cache) {
        Map<BacklogKey, RecordChange> records = new TreeMap<>();

        for (int partition = 0; partition < partitions(ctx, cache); partition++)
            records.put(connector.unit(cache, partition).record(), RecordChange.create());

        plugin.backlog(connector.settings).invokeAll(records);
    }

    /** Present incarnations by cache id, of those of the connector's caches that exist. */
    HashMap<Integer, Long> byCacheId(Connector connector) {
        HashMap<Integer, Long> incarnations = new HashMap<>();

        for (String cache : connector.caches()) {
            DynamicCacheDescriptor descriptor = ctx.cache().cacheDescriptor(cache);

            if (descriptor != null) incarnations.put(descriptor.cacheId(), connector.incarnation(cache));
        }

        return incarnations;
    }

    static int partitions(GridKernalContext ctx, String cache) {
        return ctx.grid().affinity(cache).partitions();
    }

    /** Deployment id of the cache that has this name now, or null. */
    static String deployment(GridKernalContext ctx, String cache) {
        DynamicCacheDescriptor descriptor = ctx.cache().cacheDescriptor(cache);

        return descriptor == null ? null : String.valueOf(descriptor.deploymentId());
    }
}
