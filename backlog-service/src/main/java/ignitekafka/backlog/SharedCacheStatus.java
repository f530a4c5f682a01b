package ignitekafka.backlog;

import java.io.Serializable;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/** The state of a {@link SharedCache} on one node, for {@link BacklogService#activeActive}. */
final class SharedCacheStatus implements Serializable {
    private static final long serialVersionUID = 1;

    private final long foreignRefused;
    private final long localRefused;
    private final long waiting;
    private final long dropped;
    private final long order;
    private final boolean readsThrough;
    private final List<String> lastKeys;

    private SharedCacheStatus(BacklogPlugin node, SharedCache cache) {
        foreignRefused = cache.foreignRefused();
        localRefused = cache.localRefused();
        waiting = cache.tombstones().waiting();
        dropped = cache.tombstones().dropped();
        order = node.clock().order();
        readsThrough = cache.readsThrough();
        lastKeys = cache.lastKeys();
    }

    /** Asks all nodes. */
    static Map<String, Object> of(BacklogPlugin plugin, String cache) {
        Map<String, Object> status = new HashMap<>();

        if (!plugin.activeActive().has(cache)) {
            status.put("cluster", 0);

            return status;
        }

        Collection<SharedCacheStatus> nodes = NodeJob.broadcast(plugin.context(), node -> ofNode(node, cache)).stream()
                .filter(Objects::nonNull)
                .collect(Collectors.toList());

        status.put("cluster", (int) plugin.activeActive().cluster);
        status.put("rule", plugin.activeActive().rank(cache).rule);
        status.put("readsThrough", nodes.stream().anyMatch(node -> node.readsThrough) ? 1 : 0);
        status.put("foreignRefused", sum(nodes, node -> node.foreignRefused));
        status.put("localRefused", sum(nodes, node -> node.localRefused));
        status.put("tombstonesWaiting", sum(nodes, node -> node.waiting));
        status.put("tombstonesDropped", sum(nodes, node -> node.dropped));
        status.put("order", nodes.stream().mapToLong(node -> node.order).max().orElse(0));
        status.put(
                "lastKeys",
                nodes.stream().flatMap(node -> node.lastKeys.stream()).toArray(String[]::new));

        return status;
    }

    private static SharedCacheStatus ofNode(BacklogPlugin node, String cache) {
        SharedCache shared = node.shared().get(cache);

        return shared == null ? null : new SharedCacheStatus(node, shared);
    }

    private static long sum(Collection<SharedCacheStatus> nodes, ToLongFunction<SharedCacheStatus> value) {
        return nodes.stream().mapToLong(value).sum();
    }
}
