package ignitekafka.backlog;

import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.affinity.AffinityTopologyVersion;
import org.apache.ignite.plugin.IgnitePlugin;

/**
 * What one node holds of the backlog: the registry of connectors, and a {@link NodeCapture} for each connector that
 * captures.
 */
public final class BacklogPlugin implements IgnitePlugin {
    private static final long STOP_MS = 10_000;

    private final GridKernalContext ctx;
    private final ConnectorRegistry registry;
    private final Map<String, NodeCapture> captures = new ConcurrentHashMap<>();
    private final Map<String, UnitJournal> journals = new ConcurrentHashMap<>();
    private final Map<String, CaptureService> services = new ConcurrentHashMap<>();
    private final Map<String, ReadSizes> readSizes = new ConcurrentHashMap<>();
    private final Set<String> adopted = ConcurrentHashMap.newKeySet();
    private volatile boolean stopped;

    BacklogPlugin(GridKernalContext ctx) {
        this.ctx = ctx;
        registry = new ConnectorRegistry(ctx);
    }

    /** The plugin of a node, whether the node has finished its start or not: updates come before that. */
    static BacklogPlugin of(GridKernalContext ctx) {
        return (BacklogPlugin)
                ctx.plugins().pluginProvider(BacklogPluginProvider.NAME).plugin();
    }

    GridKernalContext context() {
        return ctx;
    }

    /** The server nodes that are alive, as this one sees it. */
    Set<UUID> servers() {
        return ctx.discovery().aliveServerNodes().stream()
                .map(ClusterNode::id)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /**
     * A number, not negative: another when a server node comes or goes, and after one has come and gone. A client node
     * alone changes nothing.
     */
    int topology() {
        AffinityTopologyVersion changed = ctx.cache()
                .context()
                .exchange()
                .lastAffinityChangedTopologyVersion(ctx.discovery().topologyVersionEx());

        return 31 * servers().hashCode() + (int) changed.topologyVersion() & Integer.MAX_VALUE;
    }

    ConnectorRegistry registry() {
        return registry;
    }

    IgniteLogger log() {
        return ctx.log(BacklogPlugin.class);
    }

    /** The caches without a mark that are known to be backlogs, see {@link BacklogCache}. */
    Set<String> adopted() {
        return adopted;
    }

    /** The connector's backlog cache. */
    IgniteCache<BacklogKey, byte[]> backlog(ConnectorSettings settings) {
        if (BacklogCache.mine(this, settings)) return ctx.grid().cache(settings.cacheName);

        if (ctx.cache().cacheDescriptor(settings.cacheName) == null)
            throw new BacklogException(
                    BacklogException.Code.UNAVAILABLE, "there is no cache '" + settings.cacheName + '\'');

        throw BacklogCache.foreign(ctx, settings);
    }

    /** The capture of that connector on this node; begins with its first change. Null once the node stops. */
    NodeCapture capture(ConnectorSettings settings) {
        return stopped ? null : captures.computeIfAbsent(settings.connector, name -> new NodeCapture(this, settings));
    }

    /** The capture of that connector on this node, or null. */
    NodeCapture captureOrNull(String connector) {
        return captures.get(connector);
    }

    /**
     * The journal of that connector on this node, from when it is first written to, or asked for, until the capture
     * ends.
     */
    UnitJournal journal(String connector) {
        return journals.computeIfAbsent(connector, name -> new UnitJournal());
    }

    /** What this node has read of that connector. */
    ReadSizes readSizes(String connector) {
        return readSizes.computeIfAbsent(connector, name -> new ReadSizes());
    }

    /** The connector's capture service, where Ignite runs one on this node, else null. */
    CaptureService serviceOrNull(String connector) {
        return services.get(connector);
    }

    void serviceStarted(String connector, CaptureService service) {
        services.put(connector, service);
    }

    void serviceEnded(String connector, CaptureService service) {
        services.remove(connector, service);
    }

    /** Ends the capture of that connector on this node; what is in its buffer is lost. */
    void drop(String connector) {
        NodeCapture capture = captures.remove(connector);

        if (capture != null) capture.close();

        journals.remove(connector);
        readSizes.remove(connector);
    }

    /**
     * Writes what the buffers hold, as far as that succeeds within {@value #STOP_MS} ms, and ends the captures. A cache
     * operation may be mapped anew without end while nodes come and go, and a node must stop all the same: other owners
     * hold what it cannot write.
     */
    void stop() {
        stopped = true;

        Thread writer = new Thread(this::writeAll, "backlog-stop-" + ctx.igniteInstanceName());
        writer.setDaemon(true);
        writer.start();

        try {
            writer.join(STOP_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }

        if (writer.isAlive())
            log().warning("The backlog's buffers could not be written within " + STOP_MS
                    + " ms before the node stopped");

        captures.keySet().forEach(this::drop);
    }

    private void writeAll() {
        for (Map.Entry<String, NodeCapture> capture : captures.entrySet()) {
            try {
                capture.getValue().flush(true);
            } catch (RuntimeException e) {
                log().warning(
                                "The buffer of connector '" + capture.getKey()
                                        + "' could not be written before the node stopped",
                                e);
            }
        }
    }
}
