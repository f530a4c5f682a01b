package ignitekafka.backlog;

import java.io.Serializable;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.util.typedef.internal.U;
import org.apache.ignite.lifecycle.LifecycleBean;
import org.apache.ignite.lifecycle.LifecycleEventType;
import org.apache.ignite.plugin.CachePluginContext;
import org.apache.ignite.plugin.CachePluginProvider;
import org.apache.ignite.plugin.ExtensionRegistry;
import org.apache.ignite.plugin.IgnitePlugin;
import org.apache.ignite.plugin.PluginConfiguration;
import org.apache.ignite.plugin.PluginContext;
import org.apache.ignite.plugin.PluginProvider;
import org.apache.ignite.plugin.PluginValidationException;
import org.apache.ignite.services.ServiceConfiguration;
import org.apache.ignite.util.AttributeNodeFilter;

/**
 * Installs the backlog service on a node. Ignite finds this class by ServiceLoader when the jar is on the class path,
 * unless the node's {@code IgniteConfiguration} lists plugin providers; then this class must be in the list.
 *
 * <p>It adds to the node's configuration: an attribute of nodes with this jar; the {@link BacklogService} as a
 * statically configured service, which Ignite deploys once for the cluster, on each node with the attribute, and again
 * after an activation; and a lifecycle bean that writes the buffers before the node stops.
 */
public final class BacklogPluginProvider implements PluginProvider<PluginConfiguration> {
    /** Attribute of nodes with this jar; its value is {@link BacklogService#VERSION}. */
    public static final String ATTRIBUTE = "ignite-kafka.backlog";

    /** Attribute of nodes whose jar executes fenced writes. */
    static final String FENCES = "ignite-kafka.fences";

    /** Attribute of nodes that share caches with other clusters; its value is {@link ActiveActive#identity}. */
    static final String ACTIVE_ACTIVE = "ignite-kafka.active-active";

    /** Name of the plugin. */
    static final String NAME = "ignite-kafka-backlog";

    private BacklogPlugin plugin;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String version() {
        return BacklogService.VERSION;
    }

    @Override
    public String copyright() {
        return "Apache License 2.0";
    }

    @SuppressWarnings("unchecked")
    @Override
    public <T extends IgnitePlugin> T plugin() {
        return (T) plugin;
    }

    @Override
    public void initExtensions(PluginContext pluginContext, ExtensionRegistry registry) {
        GridKernalContext ctx = ((IgniteEx) pluginContext.grid()).context();

        plugin = new BacklogPlugin(ctx);

        if (ctx.clientNode()) return;

        IgniteConfiguration configuration = pluginContext.igniteConfiguration();

        if (!IgniteVersions.mayConfigureService(pluginContext.grid().version(), configuration)) {
            pluginContext
                    .log(BacklogPlugin.class)
                    .error(
                            "This node has no backlog service: Ignite 2.11 with its own authentication starts no configured"
                                    + " service. Use another version, or a security plugin");

            return;
        }

        Map<String, Object> attributes = new HashMap<>(
                configuration.getUserAttributes() == null ? Collections.emptyMap() : configuration.getUserAttributes());

        attributes.put(ATTRIBUTE, BacklogService.VERSION);
        attributes.put(FENCES, "1");

        if (plugin.activeActive().isConfigured()) {
            IgniteVersions.checkActiveActive(pluginContext.grid().version());
            attributes.put(ACTIVE_ACTIVE, plugin.activeActive().identity());
        }

        configuration.setUserAttributes(attributes);
        configuration.setServiceConfiguration(with(
                configuration.getServiceConfiguration(),
                new ServiceConfiguration()
                        .setName(BacklogService.NAME)
                        .setMaxPerNodeCount(1)
                        .setNodeFilter(nodes())
                        .setService(new BacklogServiceImpl()),
                ServiceConfiguration[]::new));
        configuration.setLifecycleBeans(with(
                configuration.getLifecycleBeans(),
                event -> {
                    if (event == LifecycleEventType.BEFORE_NODE_STOP) plugin.stop();
                },
                LifecycleBean[]::new));
    }

    /** Filter of nodes with this jar; a class of Ignite, because nodes without the jar must be able to load it. */
    static AttributeNodeFilter nodes() {
        return new AttributeNodeFilter(ATTRIBUTE, BacklogService.VERSION);
    }

    /** Whether the node's jar executes fenced writes. */
    static boolean hasFences(ClusterNode node) {
        return node.attribute(FENCES) != null;
    }

    private static <T> T[] with(T[] present, T added, IntFunction<T[]> array) {
        return Stream.concat(present == null ? Stream.empty() : Stream.of(present), Stream.of(added))
                .toArray(array);
    }

    /** Refuses server nodes that share other caches, or under another cluster id. */
    private void validateActiveActive(ClusterNode node) {
        String here = plugin.activeActive().identity();
        String there = node.attribute(ACTIVE_ACTIVE) == null ? "" : node.attribute(ACTIVE_ACTIVE);

        if (here.equals(there)) return;

        String message = ActiveActive.CLUSTER + ", " + ActiveActive.CACHES + ", " + ActiveActive.TOMBSTONE_MS + ", "
                + ActiveActive.FIELDS + " and " + ActiveActive.RANKS
                + " must be the same on all server nodes: the cluster has '" + here + "', node " + U.id8(node.id())
                + " [addresses=" + node.addresses() + "] has '" + there + "'; stop all nodes to change them";

        throw new PluginValidationException(message, message, node.id());
    }

    /**
     * Refuses server nodes without this jar while anything is captured, because they would own partitions without
     * capture, or while a sink has a fence, because they could not execute its writes.
     */
    @Override
    public void validateNewNode(ClusterNode node, Serializable data) {
        if (node.isClient()) return;

        validateActiveActive(node);

        if (nodes().apply(node)
                || plugin.registry().names().isEmpty()
                        && plugin.fences().names().isEmpty()) return;

        String message = "Changes of caches are captured for connectors "
                + plugin.registry().names()
                + ", and strict sinks are "
                + plugin.fences().names()
                + ", but the jar of the backlog service (version " + BacklogService.VERSION
                + ") is not on the class path of node " + U.id8(node.id()) + " [addresses=" + node.addresses()
                + ']';

        throw new PluginValidationException(message, message, node.id());
    }

    @Deprecated
    @Override
    public void validateNewNode(ClusterNode node) {
        validateNewNode(node, null);
    }

    @Override
    public <T> T createComponent(PluginContext pluginContext, Class<T> type) {
        return null;
    }

    @SuppressWarnings("rawtypes")
    @Override
    public CachePluginProvider createCacheProvider(CachePluginContext pluginContext) {
        String name = pluginContext.igniteCacheConfiguration().getName();

        return plugin.context().clientNode() || !plugin.activeActive().has(name)
                ? null
                : new SharedCacheProvider(new SharedCache(plugin, name));
    }

    @Override
    public void start(PluginContext pluginContext) {
        if (!plugin.context().clientNode() && plugin.activeActive().isConfigured()) plugin.startActiveActive();
    }

    @Override
    public void stop(boolean cancel) {
        // The lifecycle bean stops the plugin earlier, while caches can still be written.
    }

    @Override
    public void onIgniteStart() {
        // Ignite deploys the service.
    }

    @Override
    public void onIgniteStop(boolean cancel) {
        // The lifecycle bean stops the plugin earlier, while caches can still be written.
    }

    @Override
    public Serializable provideDiscoveryData(UUID nodeId) {
        return null;
    }

    @Override
    public void receiveDiscoveryData(UUID nodeId, Serializable data) {
        // No data is sent.
    }
}
