package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.UNAVAILABLE;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.services.ServiceConfiguration;

/**
 * Brings a connector's capture to the state that the registry describes. Works from any node, and again after a restart
 * of the whole cluster.
 */
final class CaptureDeployer {
    private static final long REGISTRATION_TIMEOUT_MS = 20_000;
    private static final long RETRY_MS = 100;

    private final BacklogPlugin plugin;
    private final GridKernalContext ctx;
    private final Ignite ignite;

    CaptureDeployer(BacklogPlugin plugin) {
        this.plugin = plugin;
        ctx = plugin.context();
        ignite = ctx.grid();
    }

    /**
     * Creates the backlog cache and the records of new incarnations, deploys the capture services, and returns once
     * they registered their queries.
     */
    Connector ensure(String name) {
        Connector connector = ensureCache(plugin.registry().get(name));

        registerBinaryTypes();

        Set<String> ended = ServiceLiveness.ended(plugin, name);
        CacheIncarnations incarnations = new CacheIncarnations(plugin);

        for (String cache : connector.caches()) connector = incarnations.prepare(connector, cache, ended);

        ignite.services(ignite.cluster().forServers().forPredicate(BacklogPluginProvider.nodes()))
                .deploy(new ServiceConfiguration()
                        .setName(connector.settings.serviceName)
                        .setTotalCount(CaptureService.COPIES)
                        .setMaxPerNodeCount(1)
                        .setNodeFilter(BacklogPluginProvider.nodes())
                        .setService(new CaptureService(name)));

        return awaitRegistration(connector);
    }

    /**
     * A backlog cache without this capture's id is new, or belongs to an earlier capture. What this capture had written
     * is then lost, so it starts as a new capture.
     */
    private Connector ensureCache(Connector connector) {
        IgniteCache<BacklogKey, byte[]> backlog = BacklogCache.ensure(plugin, connector);
        byte[] entry = backlog.get(BacklogKey.CAPTURE);

        if (entry != null && BacklogCache.captureId(entry) == connector.captureId()) return connector;

        long known = connector.captureId();

        if (entry != null) backlog.clear();

        return plugin.registry().update(connector.settings.connector, present -> {
            Connector current = present.begun() && present.captureId() == known ? present.renewed() : present;

            backlog.put(
                    BacklogKey.CAPTURE,
                    Chunk.buffer(new byte[8]).putLong(current.captureId()).array());

            return current.begin();
        });
    }

    /**
     * The first use of a binary type waits for the whole cluster. So types are registered here, not in the first write,
     * and not in the last write of a node that is cut off from the others.
     */
    private void registerBinaryTypes() {
        for (Object change : new Object[] {RecordChange.check(), ChunkChange.add(new byte[0]), ExpiredKeys.remove(0)})
            ignite.binary().toBinary(change);
    }

    /** Waits for all copies to register; after the timeout one is enough, and none is a failure. */
    private Connector awaitRegistration(Connector connector) {
        String name = connector.settings.connector;
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(REGISTRATION_TIMEOUT_MS);

        for (; ; ) {
            reconcile(name);

            Connector now = plugin.registry().get(name);
            int nodes = ignite.cluster()
                    .forServers()
                    .forPredicate(BacklogPluginProvider.nodes())
                    .nodes()
                    .size();
            int fewest = fewestRegistrations(now);

            if (fewest >= Math.min(nodes, CaptureService.COPIES) || fewest > 0 && System.nanoTime() > until) return now;

            if (System.nanoTime() > until)
                throw new BacklogException(UNAVAILABLE, "no node registered the capture of connector '" + name + '\'');

            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(RETRY_MS));
        }
    }

    /** The smallest number of running services that capture one of the connector's caches. */
    private int fewestRegistrations(Connector connector) {
        Set<String> running = ServiceLiveness.running(plugin, connector.settings.connector);

        return connector.caches().stream()
                .filter(cache ->
                        connector.deployment(cache) != null && CacheIncarnations.deployment(ctx, cache) != null)
                .mapToInt(cache ->
                        ServiceLiveness.capturing(connector, cache, running).size())
                .min()
                .orElse(CaptureService.COPIES);
    }

    /** Makes every node with a capture service of the connector register what the registry lists. */
    private void reconcile(String name) {
        HashSet<String> ended = ServiceLiveness.ended(plugin, name);

        NodeJob.broadcast(ctx, node -> {
            CaptureService service = node.serviceOrNull(name);

            if (service != null) service.reconcile(ended);

            return null;
        });
    }
}
