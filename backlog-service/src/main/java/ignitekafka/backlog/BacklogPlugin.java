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

/** State of the backlog service on one node: the connector registry, and captures and journals by connector. */
public final class BacklogPlugin implements IgnitePlugin {
    private static final long STOP_TIMEOUT_MS = 10_000;

    private final GridKernalContext ctx;
    private final ConnectorRegistry registry;
    private final SinkFences fences;
    private final CaptureLimits limits = CaptureLimits.ofThisNode();
    private final HeapBudget heap = new HeapBudget(limits.heapBytes);
    private final Map<String, NodeCapture> captures = new ConcurrentHashMap<>();
    private final Map<String, UnitJournal> journals = new ConcurrentHashMap<>();
    private final Map<String, CaptureService> services = new ConcurrentHashMap<>();
    private final Map<String, ReadSizes> readSizes = new ConcurrentHashMap<>();
    private final Set<String> adopted = ConcurrentHashMap.newKeySet();
    private final ActiveActive activeActive = ActiveActive.ofThisNode();
    private final VersionClock clock;
    private final TombstoneWriter tombstones;
    private final Map<String, SharedCache> shared = new ConcurrentHashMap<>();
    private volatile boolean stopped;

    BacklogPlugin(GridKernalContext ctx) {
        this.ctx = ctx;
        registry = new ConnectorRegistry(ctx);
        fences = new SinkFences(ctx);
        clock = new VersionClock(ctx);
        tombstones = new TombstoneWriter(this);
    }

    /** The plugin of a node; also while the node is still starting, because updates may arrive then. */
    static BacklogPlugin of(GridKernalContext ctx) {
        return (BacklogPlugin)
                ctx.plugins().pluginProvider(BacklogPluginProvider.NAME).plugin();
    }

    GridKernalContext context() {
        return ctx;
    }

    /** Ids of the server nodes that this node sees alive. */
    Set<UUID> servers() {
        return ctx.discovery().aliveServerNodes().stream()
                .map(ClusterNode::id)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /**
     * A non-negative number that changes whenever a server node joins or leaves, also when one has joined and left
     * again. Client nodes do not change it.
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

    /** Fences of the sinks that write to this cluster. */
    SinkFences fences() {
        return fences;
    }

    /** Which caches other clusters write, too. */
    ActiveActive activeActive() {
        return activeActive;
    }

    VersionClock clock() {
        return clock;
    }

    /** Caches of this node that other clusters write too, by name; a live map. */
    Map<String, SharedCache> shared() {
        return shared;
    }

    /** Starts what caches that other clusters write need; before any cache starts. */
    void startActiveActive() {
        ctx.cache().context().versions().dataCenterId(activeActive.cluster);
        clock.start();
        tombstones.start();
    }

    CaptureLimits limits() {
        return limits;
    }

    /** The heap of all captures of this node. */
    HeapBudget heap() {
        return heap;
    }

    IgniteLogger log() {
        return ctx.log(BacklogPlugin.class);
    }

    /** Deployments of caches without a mark that are backlogs; see {@link BacklogCache}. */
    Set<String> adopted() {
        return adopted;
    }

    /** Returns the connector's backlog cache. */
    IgniteCache<BacklogKey, byte[]> backlog(ConnectorSettings settings) {
        if (BacklogCache.isOwn(this, settings)) return ctx.grid().cache(settings.cacheName);

        if (ctx.cache().cacheDescriptor(settings.cacheName) == null)
            throw new BacklogException(
                    BacklogException.Code.UNAVAILABLE, "there is no cache '" + settings.cacheName + '\'');

        throw BacklogCache.foreign(ctx, settings);
    }

    /** The capture of the connector on this node, created by its first change; null once the node stops. */
    NodeCapture capture(ConnectorSettings settings) {
        return stopped ? null : captures.computeIfAbsent(settings.connector, name -> new NodeCapture(this, settings));
    }

    /** The capture of the connector on this node, or null. */
    NodeCapture captureOrNull(String connector) {
        return captures.get(connector);
    }

    /** The journal of the connector on this node, from its first use until the capture ends. */
    UnitJournal journal(String connector) {
        return journals.computeIfAbsent(connector, name -> new UnitJournal());
    }

    /** Sizes of the connector's chunks that this node has read. */
    ReadSizes readSizes(String connector) {
        return readSizes.computeIfAbsent(connector, name -> new ReadSizes());
    }

    /** The connector's capture service on this node, or null. */
    CaptureService serviceOrNull(String connector) {
        return services.get(connector);
    }

    void serviceStarted(String connector, CaptureService service) {
        services.put(connector, service);
    }

    void serviceEnded(String connector, CaptureService service) {
        services.remove(connector, service);
    }

    /** Ends the capture of the connector on this node; its buffered changes are lost. */
    void drop(String connector) {
        NodeCapture capture = captures.remove(connector);

        if (capture != null) capture.close();

        journals.remove(connector);
        readSizes.remove(connector);
    }

    /**
     * Writes the buffers, as far as possible within {@value #STOP_TIMEOUT_MS} ms, and ends the captures. The timeout is
     * needed because Ignite may retry a cache operation endlessly while nodes join and leave. Other owners hold what
     * this node could not write.
     */
    void stop() {
        stopped = true;

        Thread writer = new Thread(this::writeAll, "backlog-stop-" + ctx.igniteInstanceName());
        writer.setDaemon(true);
        writer.start();

        try {
            writer.join(STOP_TIMEOUT_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }

        if (writer.isAlive()) {
            writer.interrupt(); // while it waits for a new cache, Ignite could not stop the node
            log().warning("The node stops: the buffers of the backlog could not be written within " + STOP_TIMEOUT_MS
                    + " ms");
        }

        captures.keySet().forEach(this::drop);
        tombstones.stop();
        clock.stop();
    }

    private void writeAll() {
        for (Map.Entry<String, NodeCapture> capture : captures.entrySet()) {
            try {
                capture.getValue().flush(true);
            } catch (RuntimeException e) {
                log().warning(
                                "The node stops: the buffer of connector '" + capture.getKey()
                                        + "' could not be written",
                                e);
            }
        }

        try {
            tombstones.flush(true);
        } catch (RuntimeException e) {
            log().warning("The node stops: versions of removed keys could not be stored", e);
        }
    }
}
