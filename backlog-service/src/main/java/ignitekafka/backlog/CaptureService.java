package ignitekafka.backlog;

import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import javax.cache.configuration.FactoryBuilder;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cache.query.ContinuousQuery;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.resources.IgniteInstanceResource;

/**
 * Captures the caches of one connector: registers a continuous query for each cache, whose {@link CaptureFilter} runs
 * on all owners of a partition. Ignite runs {@link #COPIES} copies of the service on different nodes and replaces a
 * copy whose node leaves. Filters end with the node that registered them, so a single copy would leave a gap.
 */
final class CaptureService extends NodeService {
    /** Number of copies, each on a different node. */
    static final int COPIES = 2;

    private static final long serialVersionUID = 1;
    private static final long RETRY_MS = 1_000;

    private final String connector;

    @IgniteInstanceResource
    private transient Ignite ignite;

    private transient String id;
    private transient Map<String, Registration> registrations;
    private transient volatile boolean cancelled;

    CaptureService(String connector) {
        this.connector = connector;
    }

    @Override
    void begin() {
        id = ignite.cluster().localNode().id() + "/" + UUID.randomUUID();
        registrations = new HashMap<>();
        plugin().serviceStarted(connector, this);
    }

    /** Name of the connector. */
    String connector() {
        return connector;
    }

    /** Id of this copy from its start to its end: node id and a random id; the registry lists it. */
    String id() {
        return id;
    }

    /** Node id in the id of a copy. */
    static UUID node(String id) {
        return UUID.fromString(id.substring(0, id.indexOf('/')));
    }

    /** Registers the queries; retries, because a copy often starts while nodes are leaving. */
    @Override
    void run() throws InterruptedException {
        while (!cancelled && plugin().registry().find(connector) != null) {
            try {
                reconcile(ServiceLiveness.ended(plugin(), connector));

                return;
            } catch (RuntimeException e) {
                plugin().log()
                        .warning("The capture of connector '" + connector + "' could not be registered; retrying", e);
                Thread.sleep(RETRY_MS);
            }
        }
    }

    @Override
    synchronized void end() {
        cancelled = true;
        plugin().serviceEnded(connector, this);

        for (Registration registration : registrations.values()) {
            try {
                registration.cursor.close();
            } catch (IgniteException e) {
                plugin().log().debug("A continuous query was not closed; it ends with its node: " + e);
            }
        }

        registrations.clear();
    }

    /**
     * Registers queries for the connector's caches, and closes those of caches that were removed from the connector or
     * have another incarnation now.
     *
     * @param ended As {@link ServiceLiveness#ended} returns; computed by the caller, so that copies that call each
     *     other need no second thread for it.
     */
    synchronized void reconcile(Set<String> ended) {
        Connector wanted = plugin().registry().get(connector);

        for (Iterator<Map.Entry<String, Registration>> each =
                        registrations.entrySet().iterator();
                each.hasNext(); ) {
            Map.Entry<String, Registration> one = each.next();

            if (!wanted.caches().contains(one.getKey())
                    || !one.getValue().deployment.equals(deployment(one.getKey()))
                    || one.getValue().incarnation != wanted.incarnation(one.getKey())) {
                one.getValue().cursor.close();
                each.remove();
            }
        }

        for (String cache : wanted.caches()) {
            if (!registrations.containsKey(cache)
                    && wanted.deployment(cache) != null
                    && wanted.deployment(cache).equals(deployment(cache))) register(wanted, cache, ended);
        }
    }

    private void register(Connector before, String cache, Set<String> ended) {
        Connector wanted = new CacheIncarnations(plugin()).prepare(before, cache, ended);
        UpdateCounters counters = new UpdateCounters(plugin());
        boolean uncaptured = ServiceLiveness.isUncaptured(wanted, cache, ended);
        Map<Integer, Long> complete = uncaptured ? counters.completeNumbers(wanted, cache) : Collections.emptyMap();

        registrations.put(
                cache, new Registration(wanted.deployment(cache), wanted.incarnation(cache), query(wanted, cache)));

        try {
            if (uncaptured) counters.markMissed(wanted, cache, complete);

            plugin().registry().update(connector, present -> {
                Set<String> services = new HashSet<>(present.registered(cache));

                services.removeAll(ended);
                services.add(id);

                return present.registered(cache, services);
            });
        } catch (RuntimeException e) {
            registrations.remove(cache).cursor.close();

            throw e;
        }
    }

    private QueryCursor<?> query(Connector wanted, String cache) {
        ContinuousQuery<Object, Object> query = new ContinuousQuery<>();

        query.setRemoteFilterFactory(FactoryBuilder.factoryOf(new CaptureFilter(wanted, cache)));
        IgniteVersions.includeExpired(query);
        query.setLocalListener(events -> {
            // The filter passes no events.
        });

        return ignite.cache(cache).withKeepBinary().query(query);
    }

    private String deployment(String cache) {
        return CacheIncarnations.deployment(context(), cache);
    }

    private GridKernalContext context() {
        return ((IgniteEx) ignite).context();
    }

    private BacklogPlugin plugin() {
        return BacklogPlugin.of(context());
    }

    /** A registered query, with deployment and incarnation of its cache. */
    private static final class Registration {
        final String deployment;
        final long incarnation;
        final QueryCursor<?> cursor;

        Registration(String deployment, long incarnation, QueryCursor<?> cursor) {
            this.deployment = deployment;
            this.incarnation = incarnation;
            this.cursor = cursor;
        }
    }
}
