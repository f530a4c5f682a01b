package ignitekafka.backlog;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
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

    /** Pairs {@code cache:field}, separated by commas: {@link WriteRank} by a field of the value. */
    static final String FIELDS = "IGNITE_KAFKA_ACTIVE_ACTIVE_FIELDS";

    /** Pairs {@code cache:class}, separated by commas: {@link WriteRank} by a class of the node's class path. */
    static final String RANKS = "IGNITE_KAFKA_ACTIVE_ACTIVE_RANKS";

    /** The bits that Ignite has for it in a version. */
    private static final long MAX_CLUSTER = 31;

    private static final long DEFAULT_TOMBSTONE_MS = 86_400_000;
    private static final long DEFAULT_MAX_TOMBSTONES = 1_000_000;

    /** 0 without a configuration. */
    final byte cluster;

    final Set<String> caches;
    final long tombstoneMs;
    final long maxTombstones;

    /** By cache; in the order of names. */
    private final Map<String, WriteRank> ranks = new TreeMap<>();

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

        addRanks(FIELDS, given, WriteRank::ofField);
        addRanks(RANKS, given, WriteRank::ofClass);
    }

    private void addRanks(String name, NodeProperties given, Function<String, WriteRank> rule) {
        for (String pair : given.names(name, "")) {
            int colon = pair.lastIndexOf(':');
            String cache = colon < 0 ? "" : pair.substring(0, colon).trim();
            String what = pair.substring(colon + 1).trim();

            if (what.isEmpty() || !has(cache))
                throw new IgniteException(name + " has '" + pair + "'; it must be a cache of " + CACHES
                        + ", a colon, and the name of a field or class");

            if (ranks.put(cache, rule.apply(what)) != null)
                throw new IgniteException(FIELDS + " and " + RANKS + " name cache '" + cache + "' twice");
        }
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

    /** What decides between writes of a cache before their order. */
    WriteRank rank(String cache) {
        return ranks.getOrDefault(cache, WriteRank.OF_ALL);
    }

    /** Text that is equal for equal ids, caches, times and rules; empty without a configuration. */
    String identity() {
        if (!isConfigured()) return "";

        StringBuilder rules = new StringBuilder();

        ranks.forEach(
                (cache, rank) -> rules.append(", ").append(cache).append(" by ").append(rank.rule));

        return "cluster " + cluster + ", caches " + caches + ", " + tombstoneMs + " ms" + rules;
    }
}
