package ignitekafka.backlog;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteSystemProperties;

/**
 * Upper bounds of captures on one node. Callers choose the settings of a capture; the administrator of the node chooses
 * these bounds, by system properties or environment variables of the names below.
 *
 * <p>A first start with settings beyond a bound is refused. A running capture keeps its settings when a bound is
 * lowered or a node with lower ones joins; its buffer and flush interval on that node are within the bounds all the
 * same. The defaults of {@link ConnectorSettings} are never refused.
 */
final class CaptureLimits {
    /** Number of captures in the cluster: each has a cache, a service, and on each node a thread. */
    static final String CAPTURES = "IGNITE_KAFKA_BACKLOG_MAX_CAPTURES";

    /** Bytes of heap that the buffers of all captures use on the node. */
    static final String HEAP_BYTES = "IGNITE_KAFKA_BACKLOG_MAX_HEAP_BYTES";

    /** Maximum of {@link ConnectorSettings#BUFFER_BYTES}. */
    static final String BUFFER_BYTES = "IGNITE_KAFKA_BACKLOG_MAX_BUFFER_BYTES";

    /** Maximum of {@link ConnectorSettings#BUFFER_ENTRIES}. */
    static final String BUFFER_ENTRIES = "IGNITE_KAFKA_BACKLOG_MAX_BUFFER_ENTRIES";

    /** Maximum of {@link ConnectorSettings#FLUSH_FREQUENCY}, in milliseconds. */
    static final String FLUSH_MS = "IGNITE_KAFKA_BACKLOG_MAX_FLUSH_MS";

    /** Memory regions that {@link ConnectorSettings#REGION_NAME} may name, separated by commas. */
    static final String REGIONS = "IGNITE_KAFKA_BACKLOG_REGIONS";

    private static final long DEFAULT_CAPTURES = 100;

    /** The rest of the heap is for the node itself, and for requests and answers of the service. */
    private static final int HEAP_SHARE = 4;

    private static final int BUFFER_SHARE = 8;

    private static final long DEFAULT_BUFFER_ENTRIES = 2_000_000;

    private static final long DEFAULT_FLUSH_MS = 60_000;

    final long captures;
    final long heapBytes;
    final long bufferBytes;
    final long bufferEntries;
    final long flushMs;
    final Set<String> regions;

    /**
     * Reads the bounds of a node.
     *
     * @param configured Returns the value of a name, or null for the default.
     * @param maxHeap Bytes of the node's heap.
     * @throws IgniteException A value is not a positive whole number; the node then does not start.
     */
    CaptureLimits(UnaryOperator<String> configured, long maxHeap) {
        NodeProperties given = new NodeProperties(configured);

        captures = given.number(CAPTURES, DEFAULT_CAPTURES);
        heapBytes = given.number(HEAP_BYTES, maxHeap / HEAP_SHARE);
        bufferBytes = given.number(BUFFER_BYTES, maxHeap / BUFFER_SHARE);
        bufferEntries = given.number(BUFFER_ENTRIES, DEFAULT_BUFFER_ENTRIES);
        flushMs = given.number(FLUSH_MS, DEFAULT_FLUSH_MS);
        regions = given.names(REGIONS, ConnectorSettings.DEFAULT_REGION);
    }

    /** The bounds that the administrator of this node has set. */
    static CaptureLimits ofThisNode() {
        return new CaptureLimits(
                IgniteSystemProperties::getString, Runtime.getRuntime().maxMemory());
    }

    /**
     * Returns what of a first start is beyond the bounds; empty if nothing is.
     *
     * @param present Number of captures that the cluster has.
     */
    List<String> exceeded(ConnectorSettings wanted, int present) {
        List<String> exceeded = new ArrayList<>();

        if (present >= captures)
            exceeded.add("the cluster has " + present + " captures; at most " + captures + " are allowed (" + CAPTURES
                    + "): end one that is not needed");

        compare(wanted, ConnectorSettings.BUFFER_ENTRIES, bufferEntries, BUFFER_ENTRIES, exceeded);
        compare(wanted, ConnectorSettings.BUFFER_BYTES, bufferBytes, BUFFER_BYTES, exceeded);
        compare(wanted, ConnectorSettings.FLUSH_FREQUENCY, flushMs, FLUSH_MS, exceeded);

        if (!regions.contains(wanted.regionName))
            exceeded.add(ConnectorSettings.REGION_NAME + " is '" + wanted.regionName + "'; allowed are " + regions
                    + " (" + REGIONS + ')');

        return exceeded;
    }

    private static void compare(
            ConnectorSettings wanted, String setting, long bound, String name, List<String> exceeded) {
        long value = Long.parseLong(wanted.asMap().get(setting));

        if (value > bound && value > ConnectorSettings.defaultNumber(setting))
            exceeded.add(setting + " is '" + value + "'; the maximum is " + bound + " (" + name + ')');
    }
}
