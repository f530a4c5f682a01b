package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.MALFORMED;
import static ignitekafka.backlog.BacklogException.Code.MISSING_JAR;
import static ignitekafka.backlog.BacklogException.Code.UNAVAILABLE;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.metastorage.DistributedMetaStorage;

/**
 * Fences of sinks on this node, see {@link FencedWrite}.
 *
 * <p>A fence is in Ignite's distributed metastorage: nodes that join have it before they own partitions, and it
 * survives a restart of the cluster if any region is persistent. Each node keeps it in memory too, for writes to read.
 * {@link #raise} returns when every node with this jar has the new fence in memory.
 */
final class SinkFences {
    private static final String PREFIX = "ignite-kafka.sink.";
    private static final int MOST_NAME = 1_000;

    private final GridKernalContext ctx;
    private final Map<String, SinkFence> inMemory = new ConcurrentHashMap<>();

    SinkFences(GridKernalContext ctx) {
        this.ctx = ctx;
    }

    /** The fence that writes on this node must obey. A sink without one takes no memory. */
    SinkFence of(String sink) {
        SinkFence fence = inMemory.get(sink);

        if (fence != null) return fence;

        SinkFence stored = SinkFence.decode(read(sink));

        // Merged, because a raise may come between the read and the next line.
        return stored == SinkFence.NONE ? stored : inMemory.merge(sink, stored, SinkFence::merged);
    }

    /** Names of the sinks that have a fence. */
    List<String> names() {
        List<String> names = new ArrayList<>();

        try {
            storage().iterate(PREFIX, (key, value) -> names.add(key.substring(PREFIX.length())));
        } catch (IgniteCheckedException e) {
            throw failed("sinks", e);
        }

        return names;
    }

    /**
     * Puts a token in force on all nodes: after the return, no write with an older token changes an entry. Idempotent.
     *
     * @param slots Slots of the token; none for the whole sink.
     * @throws BacklogException A greater token is in force; a server node lacks this jar; a node does not answer.
     */
    void raise(String sink, int[] slots, WriterToken token) {
        requireName(sink);
        requireJar();

        for (; ; ) {
            byte[] before = read(sink);
            byte[] after = SinkFence.decode(before).raised(sink, slots, token).encode();

            if (Arrays.equals(before, after) || replaced(sink, before, after)) {
                NodeJob.broadcast(ctx, node -> node.fences().merge(sink, after));
                requireJar(); // of nodes that joined meanwhile, too

                return;
            }
        }
    }

    /** Ends the fence of a sink that was deleted. What still writes for it is refused. */
    void remove(String sink) {
        requireName(sink);

        try {
            storage().remove(PREFIX + sink);
        } catch (IgniteCheckedException e) {
            throw failed(sink, e);
        }

        NodeJob.broadcast(ctx, node -> node.fences().inMemory.remove(sink));
    }

    private Boolean merge(String sink, byte[] fence) {
        inMemory.merge(sink, SinkFence.decode(fence), SinkFence::merged);

        return true;
    }

    private byte[] read(String sink) {
        try {
            return storage().read(PREFIX + sink);
        } catch (IgniteCheckedException e) {
            throw failed(sink, e);
        }
    }

    private boolean replaced(String sink, byte[] before, byte[] after) {
        try {
            return storage().compareAndSet(PREFIX + sink, before, after);
        } catch (IgniteCheckedException e) {
            throw failed(sink, e);
        }
    }

    private void requireJar() {
        IgniteVersions.check(ctx.grid().cluster().forServers().nodes());

        List<String> lacking = ctx.grid().cluster().forServers().nodes().stream()
                .filter(node -> !BacklogPluginProvider.hasFences(node))
                .map(ClusterNode::consistentId)
                .map(String::valueOf)
                .collect(Collectors.toList());

        if (!lacking.isEmpty())
            throw new BacklogException(
                    MISSING_JAR,
                    "the jar of the backlog service (contract " + BacklogService.CONTRACT
                            + " or later) is not on the class path of " + lacking);
    }

    /** Refuses an empty name, and one that is too long. */
    static void requireName(String sink) {
        if (sink == null || sink.isEmpty() || sink.length() > MOST_NAME)
            throw new BacklogException(MALFORMED, "the name of a sink has 1 to " + MOST_NAME + " characters");
    }

    private DistributedMetaStorage storage() {
        return ctx.distributedMetastorage();
    }

    private static BacklogException failed(String sink, IgniteCheckedException e) {
        return new BacklogException(
                UNAVAILABLE, "the fence of '" + sink + "' could not be read or written: " + e.getMessage(), e);
    }
}
