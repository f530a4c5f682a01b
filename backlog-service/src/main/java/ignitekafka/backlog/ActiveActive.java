package ignitekafka.backlog;

import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteSystemProperties;

/**
 * Which caches of a node other clusters write too, and the cluster's id among them, by system properties or environment
 * variables of the names below. All server nodes of a cluster must have the same; a node without them is as it would be
 * without this class.
 */
final class ActiveActive {
    /** Id of the cluster, 1 to 31, other than those of all clusters that write the same caches. */
    static final String CLUSTER = "IGNITE_KAFKA_ACTIVE_ACTIVE_CLUSTER";

    /** Names of the caches, separated by commas. */
    static final String CACHES = "IGNITE_KAFKA_ACTIVE_ACTIVE_CACHES";

    /** Milliseconds for which the version of a removed key is kept. */
    static final String TOMBSTONE_MS = "IGNITE_KAFKA_ACTIVE_ACTIVE_TOMBSTONE_MS";

    /** Number of versions of removed keys that a node holds in memory for a cache while they cannot be stored. */
    static final String MAX_TOMBSTONES = "IGNITE_KAFKA_ACTIVE_ACTIVE_MAX_TOMBSTONES";

    /** The bits that Ignite has for it in a version. */
    private static final long MAX_CLUSTER = 31;

    private static final long DEFAULT_TOMBSTONE_MS = 86_400_000;
    private static final long DEFAULT_MAX_TOMBSTONES = 1_000_000;

    /** 0 without a configuration. */
    final byte cluster;

    final Set<String> caches;
    final long tombstoneMs;
    final long maxTombstones;

    /**
     * Reads the configuration of a node.
     *
     * @param configured Returns the value of a name, or null for the default.
     * @throws IgniteException A value is out of its range, or one of id and caches is missing; the node then does not
     *     start.
     */
    ActiveActive(UnaryOperator<String> configured) {
        NodeProperties given = new NodeProperties(configured);

        caches = given.names(CACHES, "");
        cluster = (byte) given.number(CLUSTER, 0, MAX_CLUSTER);
        tombstoneMs = given.number(TOMBSTONE_MS, DEFAULT_TOMBSTONE_MS);
        maxTombstones = given.number(MAX_TOMBSTONES, DEFAULT_MAX_TOMBSTONES, Integer.MAX_VALUE);

        if (caches.isEmpty() != (cluster == 0))
            throw new IgniteException(CLUSTER + " and " + CACHES + " must be set together");
    }

    /** The configuration of this process. */
    static ActiveActive ofThisNode() {
        return new ActiveActive(IgniteSystemProperties::getString);
    }

    boolean isConfigured() {
        return cluster != 0;
    }

    /** Whether other clusters write the cache, too. */
    boolean has(String cache) {
        return caches.contains(cache);
    }

    /** Text that is equal for equal ids, caches and times; empty without a configuration. */
    String identity() {
        return isConfigured() ? "cluster " + cluster + ", caches " + caches + ", " + tombstoneMs + " ms" : "";
    }
}
