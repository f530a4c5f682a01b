package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.UNAVAILABLE;
import static ignitekafka.backlog.BacklogException.Code.UNKNOWN_CONNECTOR;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.metastorage.DistributedMetaStorage;

/**
 * The cluster's connectors, in Ignite's distributed metastorage. It is on all server nodes and survives a restart of
 * the whole cluster if any region is persistent. Updates use compare-and-set, so nodes can update a connector
 * concurrently.
 */
final class ConnectorRegistry {
    private static final String PREFIX = "ignite-kafka.backlog.";

    private final GridKernalContext ctx;

    ConnectorRegistry(GridKernalContext ctx) {
        this.ctx = ctx;
    }

    List<String> names() {
        List<String> names = new ArrayList<>();

        try {
            storage().iterate(PREFIX, (key, value) -> names.add(key.substring(PREFIX.length())));
        } catch (IgniteCheckedException e) {
            throw failed("connectors", e);
        }

        return names;
    }

    /** Returns the connector, or null. */
    Connector find(String name) {
        TreeMap<String, String> map = read(name);

        return map == null ? null : new Connector(name, map);
    }

    Connector get(String name) {
        Connector connector = name == null ? null : find(name);

        if (connector == null)
            throw new BacklogException(
                    UNKNOWN_CONNECTOR, "connector '" + name + "' has no capture; connectors with one: " + names());

        return connector;
    }

    /** Adds a connector unless one of that name exists; returns the registered one. */
    Connector add(Connector connector) {
        String name = connector.settings.connector;

        try {
            storage().compareAndSet(PREFIX + name, null, connector.asMap());
        } catch (IgniteCheckedException e) {
            throw failed(name, e);
        }

        return get(name);
    }

    /** Applies a change, again after each concurrent update; returns the result. */
    Connector update(String name, UnaryOperator<Connector> change) {
        for (; ; ) {
            Connector before = get(name);
            Connector after = change.apply(before);

            try {
                if (after.asMap().equals(before.asMap())
                        || storage().compareAndSet(PREFIX + name, before.asMap(), after.asMap())) return after;
            } catch (IgniteCheckedException e) {
                throw failed(name, e);
            }
        }
    }

    void remove(String name) {
        try {
            storage().remove(PREFIX + name);
        } catch (IgniteCheckedException e) {
            throw failed(name, e);
        }
    }

    private TreeMap<String, String> read(String name) {
        try {
            return storage().read(PREFIX + name);
        } catch (IgniteCheckedException e) {
            throw failed(name, e);
        }
    }

    private DistributedMetaStorage storage() {
        return ctx.distributedMetastorage();
    }

    private static BacklogException failed(String name, IgniteCheckedException e) {
        return new BacklogException(
                UNAVAILABLE, "the record of '" + name + "' could not be read or written: " + e.getMessage(), e);
    }
}
