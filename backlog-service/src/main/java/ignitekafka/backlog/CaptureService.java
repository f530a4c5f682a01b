package ignitekafka.backlog;

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
import org.apache.ignite.services.Service;

/**
 * Keeps one connector's caches captured: registers a continuous query a cache, whose {@link CaptureFilter} then runs on
 * all owners. Ignite runs it on two nodes ({@link #COPIES}), and on another one when one of them leaves: filters go
 * with the node that registered them, so one node alone would leave a gap.
 */
final class CaptureService implements Service {
    /** Nodes that register. */
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
    public void init() {
        id = ignite.cluster().localNode().id() + "/" + UUID.randomUUID();
        registrations = new HashMap<>();
        plugin().serviceStarted(connector, this);
    }

    /** Name of the connector whose caches it captures. */
    String connector() {
        return connector;
    }

    /**
     * Of this copy, from one start of it to its end: its node's id, and one of its own. By it the registry tells who
     * captures.
     */
    String id() {
        return id;
    }

    /** The node of a copy with that id. */
    static UUID node(String id) {
        return UUID.fromString(id.substring(0, id.indexOf('/')));
    }

    /**
     * Registers what the registry says, as often as it takes: nodes may be leaving just now, which is when a copy
     * starts anew.
     */
    @Override
    public void execute() throws InterruptedException {
        while (!cancelled && plugin().registry().find(connector) != null) {
            try {
                reconcile(new Captures(plugin()).dead(connector));

                return;
            } catch (RuntimeException e) {
                plugin().log()
                        .warning(
                                "The capture of connector '" + connector
                                        + "' could not be registered, will be tried again",
                                e);
                Thread.sleep(RETRY_MS);
            }
        }
    }

    @Override
    public synchronized void cancel() {
        cancelled = true;
        plugin().serviceEnded(connector, this);

        for (Registration registration : registrations.values()) {
            try {
                registration.cursor.close();
            } catch (IgniteException e) {
                plugin().log().debug("A continuous query ends with its node: " + e);
            }
        }

        registrations.clear();
    }

    /**
     * Registers the connector's caches that are not, and ends the registrations of those that are its caches no more,
     * or are others by now.
     *
     * @param dead As {@link Captures#dead} tells; asked for before, so that copies which call each other need no second
     *     thread for it.
     */
    synchronized void reconcile(Set<String> dead) {
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
                    && wanted.deployment(cache).equals(deployment(cache))) register(wanted, cache, dead);
        }
    }

    private void register(Connector before, String cache, Set<String> dead) {
        Captures captures = new Captures(plugin());
        Connector wanted = captures.prepare(before, cache, dead);
        boolean uncaptured = Captures.uncaptured(wanted, cache, dead);
        Map<Integer, Long> complete = uncaptured ? captures.complete(wanted, cache) : Map.of();

        registrations.put(
                cache, new Registration(wanted.deployment(cache), wanted.incarnation(cache), query(wanted, cache)));

        try {
            if (uncaptured) captures.markMissed(wanted, cache, complete);

            plugin().registry().update(connector, present -> {
                Set<String> services = new HashSet<>(present.registered(cache));

                services.removeAll(dead);
                services.add(id);

                return present.registered(cache, services);
            });
        } catch (RuntimeException e) {
            registrations.remove(cache).cursor.close();

            throw e;
        }
    }

    private QueryCursor<?> query(Connector after, String cache) {
        ContinuousQuery<Object, Object> query = new ContinuousQuery<>();

        query.setRemoteFilterFactory(FactoryBuilder.factoryOf(new CaptureFilter(after, cache)));
        query.setIncludeExpired(true);
        query.setLocalListener(events -> {
            // The filter lets none through.
        });

        return ignite.cache(cache).withKeepBinary().query(query);
    }

    private String deployment(String cache) {
        return Captures.deployment(context(), cache);
    }

    private GridKernalContext context() {
        return ((IgniteEx) ignite).context();
    }

    private BacklogPlugin plugin() {
        return BacklogPlugin.of(context());
    }

    /** A registered query, and what it captures. */
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
