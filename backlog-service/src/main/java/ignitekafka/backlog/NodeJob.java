package ignitekafka.backlog;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import javax.cache.CacheException;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterGroup;
import org.apache.ignite.cluster.ClusterGroupEmptyException;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.util.future.IgniteFinishedFutureImpl;
import org.apache.ignite.internal.util.typedef.internal.U;
import org.apache.ignite.lang.IgniteCallable;
import org.apache.ignite.lang.IgniteFuture;
import org.apache.ignite.resources.IgniteInstanceResource;

/** Runs work on each node with this jar. */
final class NodeJob<T> implements IgniteCallable<T> {
    private static final long serialVersionUID = 1;

    /** Timeout of the answers of other nodes. */
    private static final long TIMEOUT_MS = 30_000;

    /**
     * The work by Java's serialization: Ignite before 2.16 cannot marshal a lambda on Java 17. Earlier jars had a field
     * {@code work} of another type, which Ignite keeps in the metadata of this class and would refuse to change.
     */
    private final byte[] serializedWork;

    @IgniteInstanceResource
    private transient Ignite ignite;

    private NodeJob(GridKernalContext ctx, Work<T> work) {
        try {
            serializedWork = U.marshal(ctx.marshallerContext().jdkMarshaller(), work);
        } catch (IgniteCheckedException e) {
            throw U.convertException(e);
        }
    }

    /** Runs on all nodes with this jar and returns their answers; fails if one node fails. */
    static <T> Collection<T> broadcast(GridKernalContext ctx, Work<T> work) {
        return broadcast(ctx, TIMEOUT_MS, work);
    }

    /** The same with a timeout for the other nodes. This node works in the calling thread, not in Ignite's pools. */
    static <T> Collection<T> broadcast(GridKernalContext ctx, long timeoutMs, Work<T> work) {
        ClusterGroup nodes = ctx.grid().cluster().forServers().forPredicate(BacklogPluginProvider.nodes());
        ClusterGroup others = nodes.forRemotes();
        boolean here = nodes.node(ctx.localNodeId()) != null;
        List<T> answers = new ArrayList<>();

        try {
            IgniteFuture<Collection<T>> remote = here && others.nodes().isEmpty()
                    ? new IgniteFinishedFutureImpl<>(Collections.emptyList())
                    : ctx.grid().compute(others).withTimeout(timeoutMs).broadcastAsync(new NodeJob<>(ctx, work));

            if (here) answers.add(work.run(BacklogPlugin.of(ctx)));

            answers.addAll(remote.get());

            return answers;
        } catch (ClusterGroupEmptyException e) {
            throw new BacklogException(BacklogException.Code.UNAVAILABLE, "no server node is alive", e);
        } catch (IgniteException | CacheException e) {
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                if (cause instanceof BacklogException) throw (BacklogException) cause;
            }

            throw new BacklogException(BacklogException.Code.UNAVAILABLE, "a node failed: " + e.getMessage(), e);
        }
    }

    @Override
    public T call() throws IgniteCheckedException {
        GridKernalContext ctx = ((IgniteEx) ignite).context();
        Work<T> sent = U.unmarshal(
                ctx.marshallerContext().jdkMarshaller(), serializedWork, U.resolveClassLoader(null, ctx.config()));

        return sent.run(BacklogPlugin.of(ctx));
    }

    /** Work of one node. */
    @FunctionalInterface
    interface Work<T> extends Serializable {
        /** Runs with that node's plugin. */
        T run(BacklogPlugin plugin);
    }
}
