package ignitekafka.backlog;

import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/** Which {@link CaptureService}s run, and which of those that registered a capture have ended. */
final class ServiceLiveness {
    private ServiceLiveness() {
        // Static methods only.
    }

    /**
     * Ids of the connector's capture services that run now. Ignite ends a service with its node, and when the cluster
     * is deactivated.
     */
    static Set<String> running(BacklogPlugin plugin, String connector) {
        return NodeJob.broadcast(plugin.context(), node -> {
                    CaptureService service = node.serviceOrNull(connector);

                    return service == null ? null : service.id();
                })
                .stream()
                .filter(Objects::nonNull)
                .collect(Collectors.toSet());
    }

    /** Those of the {@code running} services that registered the capture of the cache. */
    static Set<String> capturing(Connector connector, String cache, Set<String> running) {
        Set<String> capturing = new HashSet<>(connector.registered(cache));

        capturing.retainAll(running);

        return capturing;
    }

    /** Ids of services that registered a capture of the connector and have ended; an ended id never returns. */
    static HashSet<String> ended(BacklogPlugin plugin, String name) {
        Connector connector = plugin.registry().find(name);
        HashSet<String> ended = new HashSet<>();

        if (connector == null) return ended;

        connector.caches().forEach(cache -> ended.addAll(connector.registered(cache)));
        ended.removeAll(running(plugin, name)); // read after the registry: a registered service was running by then

        return ended;
    }

    /** Whether services registered the capture of the cache, and all of them have ended. */
    static boolean isUncaptured(Connector connector, String cache, Set<String> ended) {
        return !connector.registered(cache).isEmpty() && ended.containsAll(connector.registered(cache));
    }
}
