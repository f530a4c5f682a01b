package ignitekafka.backlog;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import javax.cache.CacheException;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteException;
import org.apache.ignite.cluster.ClusterGroup;
import org.apache.ignite.cluster.ClusterGroupEmptyException;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.util.future.IgniteFinishedFutureImpl;
import org.apache.ignite.lang.IgniteCallable;
import org.apache.ignite.lang.IgniteFuture;
import org.apache.ignite.resources.IgniteInstanceResource;

/** Something that the control service has each node with this jar do. */
final class NodeJob<T> implements IgniteCallable<T> {
    private static final long serialVersionUID = 1;

    /** Longest wait for the nodes' answers. */
    private static final long TIMEOUT_MS = 30_000;

    private final Work<T> work;

    @IgniteInstanceResource
    private transient Ignite ignite;

    private NodeJob(Work<T> work) {
        this.work = work;
    }

    /** Runs on all nodes with this jar, and answers what each said; fails when one does. */
    static <T> Collection<T> everywhere(GridKernalContext ctx, Work<T> work) {
        return everywhere(ctx, TIMEOUT_MS, work);
    }

    /**
     * The same with another longest wait for the other nodes. This one works in the calling thread, which spares the
     * way through Ignite's pools.
     */
    static <T> Collection<T> everywhere(GridKernalContext ctx, long timeoutMs, Work<T> work) {
        ClusterGroup nodes = ctx.grid().cluster().forServers().forPredicate(BacklogPluginProvider.nodes());
        ClusterGroup others = nodes.forRemotes();
        boolean here = nodes.node(ctx.localNodeId()) != null;
        List<T> answers = new ArrayList<>();

        try {
            IgniteFuture<Collection<T>> asked = here && others.nodes().isEmpty()
                    ? new IgniteFinishedFutureImpl<>(List.of())
                    : ctx.grid().compute(others).withTimeout(timeoutMs).broadcastAsync(new NodeJob<>(work));

            if (here) answers.add(work.run(BacklogPlugin.of(ctx)));

            answers.addAll(asked.get());

            return answers;
        } catch (ClusterGroupEmptyException e) {
            throw new BacklogException(BacklogException.Code.UNAVAILABLE, "no server node is there", e);
        } catch (IgniteException | CacheException e) {
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                if (cause instanceof BacklogException) throw (BacklogException) cause;
            }

            throw new BacklogException(BacklogException.Code.UNAVAILABLE, "a node failed: " + e.getMessage(), e);
        }
    }

    @Override
    public T call() {
        return work.run(BacklogPlugin.of(((IgniteEx) ignite).context()));
    }

    /** What to do on a node. */
    @FunctionalInterface
    interface Work<T> extends Serializable {
        /** Runs with that node's plugin. */
        T run(BacklogPlugin plugin);
    }
}
