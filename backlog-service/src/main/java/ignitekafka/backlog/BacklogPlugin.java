package ignitekafka.backlog;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.plugin.IgnitePlugin;

/** What one node holds of the backlog: the registry of connectors, and a {@link NodeCapture} for each connector that captures. */
public final class BacklogPlugin implements IgnitePlugin {
    private final GridKernalContext ctx;
    private final ConnectorRegistry registry;
    private final Map<String, NodeCapture> captures = new ConcurrentHashMap<>();
    private final Map<String, CaptureService> services = new ConcurrentHashMap<>();
    private volatile boolean stopped;

    BacklogPlugin(GridKernalContext ctx) {
        this.ctx = ctx;
        registry = new ConnectorRegistry(ctx);
    }

    /** The plugin of a node, whether the node has finished its start or not: updates come before that. */
    static BacklogPlugin of(GridKernalContext ctx) {
        return (BacklogPlugin)ctx.plugins().pluginProvider(BacklogPluginProvider.NAME).plugin();
    }

    GridKernalContext context() {
        return ctx;
    }

    ConnectorRegistry registry() {
        return registry;
    }

    IgniteLogger log() {
        return ctx.log(BacklogPlugin.class);
    }

    /** The connector's backlog cache, or null while it is not there. */
    IgniteCache<BacklogKey, byte[]> backlog(ConnectorSettings settings) {
        return ctx.grid().cache(settings.cacheName);
    }

    /** The capture of that connector on this node; begins with its first change. Null once the node stops. */
    NodeCapture capture(ConnectorSettings settings) {
        return stopped ? null : captures.computeIfAbsent(settings.connector, name -> new NodeCapture(this, settings));
    }

    /** The capture of that connector on this node, or null. */
    NodeCapture captureOrNull(String connector) {
        return captures.get(connector);
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

        if (capture != null)
            capture.close();
    }

    /** Writes what the buffers hold, as far as that succeeds at once, and ends the captures. */
    void stop() {
        stopped = true;

        for (String connector : captures.keySet()) {
            try {
                captures.get(connector).flush(true);
            }
            catch (RuntimeException e) {
                log().warning("The buffer of connector '" + connector + "' could not be written before the node stopped", e);
            }

            drop(connector);
        }
    }
}
