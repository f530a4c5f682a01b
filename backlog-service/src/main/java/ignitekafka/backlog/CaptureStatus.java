package ignitekafka.backlog;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;

/** Describes a capture, and the caches of the cluster, for callers. */
final class CaptureStatus {
    private final BacklogPlugin plugin;
    private final Connector connector;

    CaptureStatus(BacklogPlugin plugin, Connector connector) {
        this.plugin = plugin;
        this.connector = connector;
    }

    /** The answer of {@link BacklogService#update(String, String[], String)}. */
    Map<String, Object> summary() {
        Map<String, Object> description = new LinkedHashMap<>();
        GridKernalContext ctx = plugin.context();
        Set<String> running = ServiceLiveness.running(plugin, connector.settings.connector);
        Set<String> registered = null;

        for (String cache : connector.caches()) {
            Set<String> capturing = ServiceLiveness.capturing(connector, cache, running);

            if (registered == null) registered = new HashSet<>(capturing);

            registered.retainAll(capturing);

            if (CacheIncarnations.deployment(ctx, cache) != null) {
                description.put("incarnation." + cache, connector.incarnation(cache));
                description.put("partitions." + cache, CacheIncarnations.partitions(ctx, cache));
            }
        }

        description.put("captureId", connector.captureId());
        description.put("registered", registered == null ? 0 : registered.size());

        return description;
    }

    /** The answer of {@link BacklogService#status}. */
    Map<String, Object> details() {
        Map<String, Object> status = summary();
        String name = connector.settings.connector;

        status.put("owner", connector.settings.owner);
        status.put("caches", connector.caches().toArray(new String[0]));
        status.put(
                "nodes",
                NodeJob.broadcast(plugin.context(), node -> nodeLine(node, name)).stream()
                        .filter(Objects::nonNull)
                        .sorted()
                        .toArray(String[]::new));
        status.put("servers", plugin.servers().stream().map(UUID::toString).toArray(String[]::new));

        return status;
    }

    private static String nodeLine(BacklogPlugin node, String connector) {
        NodeCapture capture = node.captureOrNull(connector);

        return capture == null
                ? null
                : String.format(
                        Locale.ROOT,
                        "%s entries=%d bytes=%d written=%d fill=%.3f",
                        node.context().discovery().localNode().consistentId(),
                        capture.bufferedEntries(),
                        capture.bufferedBytes(),
                        capture.writtenEntries(),
                        capture.regionFill());
    }

    /** The answer of {@link BacklogService#caches}. */
    static String[] userCaches(GridKernalContext ctx) {
        return ctx.cache().cacheDescriptors().values().stream()
                .filter(cache -> cache.cacheType().userCache())
                .map(CaptureStatus::line)
                .sorted()
                .toArray(String[]::new);
    }

    private static String line(DynamicCacheDescriptor cache) {
        int partitions = cache.cacheConfiguration().getAffinity() == null
                ? 0
                : cache.cacheConfiguration().getAffinity().partitions();
        Object started = cache.startTopologyVersion() == null
                ? 0
                : cache.startTopologyVersion().topologyVersion();

        return Stream.of(
                        cache.cacheName(),
                        cache.cacheId(),
                        cache.deploymentId(),
                        started,
                        partitions,
                        cache.groupDescriptor().cacheOrGroupName())
                .map(String::valueOf)
                .collect(Collectors.joining("\t"));
    }
}
