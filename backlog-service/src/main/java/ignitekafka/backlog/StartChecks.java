package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.BEYOND_LIMIT;
import static ignitekafka.backlog.BacklogException.Code.MALFORMED;
import static ignitekafka.backlog.BacklogException.Code.MISSING_JAR;
import static ignitekafka.backlog.BacklogException.Code.MISSING_REGION;
import static ignitekafka.backlog.BacklogException.Code.OTHER_OWNER;
import static ignitekafka.backlog.BacklogException.Code.OTHER_SETTINGS;
import static ignitekafka.backlog.BacklogException.Code.UNKNOWN_CACHE;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.internal.GridKernalContext;

/** Checks the preconditions of starting a capture and of changing its caches. */
final class StartChecks {
    private final BacklogPlugin plugin;
    private final GridKernalContext ctx;

    StartChecks(BacklogPlugin plugin) {
        this.plugin = plugin;
        ctx = plugin.context();
    }

    /**
     * Checks nodes, backlog cache and capture service.
     *
     * @param first Whether the capture begins; a running one keeps its settings when limits change.
     */
    void capture(ConnectorSettings wanted, boolean first) {
        nodes(wanted);

        if (first) limits(wanted);

        BacklogCache.check(plugin, wanted);
        CaptureServices.check(ctx, wanted);
    }

    /** Checks that a first start names caches: without any, nobody's right to read one would be asked. */
    static void someCaches(String connector, String[] caches) {
        if (caches != null && caches.length == 0)
            throw new BacklogException(
                    MALFORMED, "the capture of connector '" + connector + "' needs at least one cache");
    }

    /** Checks that the caches exist and that none of them is a backlog. */
    void caches(ConnectorSettings settings, String[] caches) {
        if (caches == null || Arrays.asList(caches).contains(null))
            throw new BacklogException(MALFORMED, "caches are missing");

        for (String cache : caches) {
            if (cache.equals(settings.cacheName) || BacklogCache.isMarked(ctx, cache))
                throw new BacklogException(MALFORMED, "backlog cache '" + cache + "' cannot be captured");

            if (CacheIncarnations.deployment(ctx, cache) == null)
                throw new BacklogException(UNKNOWN_CACHE, "there is no cache '" + cache + '\'');
        }
    }

    /** Checks that an existing capture has the same owner and settings. */
    static void same(Connector present, ConnectorSettings wanted) {
        if (!present.settings.owner.equals(wanted.owner))
            throw new BacklogException(
                    OTHER_OWNER,
                    "connector '" + wanted.connector + "' captures for '" + present.settings.owner + "', not for '"
                            + wanted.owner + '\'');

        if (!present.settings.asMap().equals(wanted.asMap()))
            throw new BacklogException(
                    OTHER_SETTINGS,
                    "connector '" + wanted.connector + "' captures with " + present.settings.asMap()
                            + ", but is started with " + wanted.asMap());
    }

    private void nodes(ConnectorSettings settings) {
        IgniteVersions.check(ctx.grid().cluster().forServers().nodes());

        Collection<ClusterNode> withoutJar = ctx.grid()
                .cluster()
                .forServers()
                .forPredicate(node -> !BacklogPluginProvider.nodes().apply(node))
                .nodes();

        if (!withoutJar.isEmpty())
            throw new BacklogException(
                    MISSING_JAR,
                    "the jar of the backlog service (version " + BacklogService.VERSION
                            + ") is not on the class path of "
                            + withoutJar.stream()
                                    .map(node -> String.valueOf(node.consistentId()))
                                    .collect(Collectors.toList()));

        String region = settings.regionName;
        List<String> lacking = NodeJob.broadcast(
                        ctx,
                        node -> hasRegion(node, region)
                                ? null
                                : String.valueOf(
                                        node.context().discovery().localNode().consistentId()))
                .stream()
                .filter(Objects::nonNull)
                .collect(Collectors.toList());

        if (!lacking.isEmpty())
            throw new BacklogException(
                    MISSING_REGION,
                    "memory region '" + region + "' (" + ConnectorSettings.REGION_NAME
                            + ") is not in the DataStorageConfiguration of " + lacking);
    }

    private void limits(ConnectorSettings settings) {
        String connector = settings.connector;
        TreeMap<String, String> all = new TreeMap<>(settings.asMap()); // settings themselves cannot be sent
        int present = plugin.registry().names().size();
        List<String> exceeded =
                NodeJob.broadcast(ctx, node -> exceeded(node, new ConnectorSettings(connector, all), present)).stream()
                        .flatMap(List::stream)
                        .sorted()
                        .collect(Collectors.toList());

        if (!exceeded.isEmpty())
            throw new BacklogException(
                    BEYOND_LIMIT,
                    "the capture of connector '" + connector + "' is beyond limits of the nodes: "
                            + String.join("; ", exceeded));
    }

    private static List<String> exceeded(BacklogPlugin node, ConnectorSettings settings, int present) {
        Object id = node.context().discovery().localNode().consistentId();

        return node.limits().exceeded(settings, present).stream()
                .map(what -> what + " on node " + id)
                .collect(Collectors.toList());
    }

    private static boolean hasRegion(BacklogPlugin node, String region) {
        try {
            return node.context().cache().context().database().dataRegion(region) != null;
        } catch (IgniteCheckedException e) {
            return false;
        }
    }
}
