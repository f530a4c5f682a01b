package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.FORBIDDEN;
import static ignitekafka.backlog.BacklogException.Code.FOREIGN_CACHE;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;

/** Starts, updates and ends captures, for {@link BacklogServiceImpl}. */
final class CaptureLifecycle {
    private final BacklogPlugin plugin;
    private final ConnectorRegistry registry;
    private final Guard guard;
    private final Ignite ignite;

    CaptureLifecycle(BacklogPlugin plugin) {
        this.plugin = plugin;
        registry = plugin.registry();
        guard = new Guard(plugin.context());
        ignite = plugin.context().grid();
    }

    /**
     * Deploys the registered captures again, on the oldest node only. Ignite does not keep services over a restart of
     * the whole cluster.
     */
    void restore() {
        ClusterNode oldest = ignite.cluster()
                .forServers()
                .forPredicate(BacklogPluginProvider.nodes())
                .forOldest()
                .node();

        if (oldest == null || !oldest.isLocal()) return;

        for (String connector : registry.names()) {
            try {
                new CaptureDeployer(plugin).ensure(connector);
            } catch (RuntimeException e) {
                plugin.log()
                        .error("The capture of connector '" + connector + "' could not be restored; start it again", e);
            }
        }
    }

    /** Implements {@link BacklogService#start(String, Map, String[], String)}. */
    Map<String, Object> start(ConnectorSettings wanted, String[] caches, String secret) {
        String connector = wanted.connector;
        String digest = secret == null ? null : Guard.digest(secret);
        Connector present = registry.find(connector);

        if (present != null) requireSame(present, wanted, secret);

        if (present == null) StartChecks.someCaches(connector, caches);

        requireCaches(wanted, caches);

        boolean mayAddSecret = guard.isAdministrator(connector);

        return guard.asNode(() -> {
            new StartChecks(plugin).capture(wanted, present == null);

            Connector first = Connector.first(wanted);
            Connector added = registry.add(digest == null ? first : first.withSecret(digest));

            requireSame(added, wanted, secret); // a concurrent call may have added it first

            if (digest != null && added.secretDigest() == null) addSecret(connector, digest, secret, mayAddSecret);

            return begin(connector, caches);
        });
    }

    private static void requireSame(Connector present, ConnectorSettings wanted, String secret) {
        StartChecks.same(present, wanted);
        Guard.requireSecret(present, secret);
    }

    /**
     * Adds a secret to a capture that runs without one, for an administrator only: whoever adds a secret locks out
     * those who began the capture.
     */
    private void addSecret(String connector, String digest, String secret, boolean allowed) {
        if (!allowed)
            throw new BacklogException(
                    FORBIDDEN,
                    "the capture of connector '" + connector + "' runs without a secret, and this start has one; only"
                            + " an administrator may add it. End the capture, which needs no secret, and start it"
                            + " again: it then has the secret from its beginning");

        registry.update(connector, present -> {
            Guard.requireSecret(present, secret);

            return present.withSecret(digest);
        });
    }

    private void requireCaches(ConnectorSettings settings, String[] caches) {
        new StartChecks(plugin).caches(settings, caches);
        guard.requireRead(Arrays.asList(caches));
        requireCreation(settings);
    }

    /**
     * Refuses a caller who may not create what {@link CaptureDeployer#ensure} would create. Nodes create it with their
     * own permissions, under names that the caller chooses. A capture whose cache and service exist needs neither.
     */
    private void requireCreation(ConnectorSettings settings) {
        if (!guard.asNode(() -> BacklogCache.isOwn(plugin, settings))) guard.requireCreate(settings.cacheName);

        if (!CaptureServices.isOwn(plugin.context(), settings)) guard.requireDeploy(settings.serviceName);
    }

    /** Applies the caches; removes the registration again if the connector never got a backlog cache. */
    private Map<String, Object> begin(String connector, String[] caches) {
        try {
            return apply(connector, caches);
        } catch (BacklogException e) {
            Connector present = registry.find(connector);

            if (e.code() == FOREIGN_CACHE && present != null && !present.begun()) registry.remove(connector);

            throw e;
        }
    }

    /** Implements {@link BacklogService#update(String, String[], String)}. */
    Map<String, Object> update(Connector present, String[] caches) {
        requireCaches(present.settings, caches);

        return guard.asNode(() -> apply(present.settings.connector, caches));
    }

    private Map<String, Object> apply(String connector, String[] caches) {
        Connector before = registry.get(connector);

        registry.update(connector, present -> present.withCaches(Arrays.asList(caches)));

        Connector after = new CaptureDeployer(plugin).ensure(connector);

        Barrier.await(plugin.context(), before);

        for (String cache : before.caches()) {
            if (!after.caches().contains(cache)) new CacheIncarnations(plugin).forget(before, cache);
        }

        return new CaptureStatus(plugin, after).summary();
    }

    /** Implements {@link BacklogService#stop(String, boolean, String)}; a connector that is null has no capture. */
    Map<String, Object> end(Connector connector, boolean destroy) {
        return guard.asNode(() -> {
            Map<String, Object> removed = new HashMap<>();

            removed.put("service", null);
            removed.put("cache", null);

            if (connector != null) end(connector.settings, destroy, removed);

            return removed;
        });
    }

    private void end(ConnectorSettings settings, boolean destroy, Map<String, Object> removed) {
        String connector = settings.connector;

        if (CaptureServices.isOwn(plugin.context(), settings)) {
            ignite.services().cancel(settings.serviceName);
            removed.put("service", settings.serviceName);
        }

        NodeJob.broadcast(plugin.context(), node -> {
            node.drop(connector);

            return null;
        });

        if (destroy && BacklogCache.isOwn(plugin, settings)) {
            ignite.destroyCache(settings.cacheName);
            removed.put("cache", settings.cacheName);
        }

        registry.remove(connector);
    }
}
