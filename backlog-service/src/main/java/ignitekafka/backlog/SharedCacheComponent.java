package ignitekafka.backlog;

import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.lang.IgniteFuture;

/** The life cycle of Ignite's components of a {@link SharedCache}: they only need to know the cache. */
@SuppressWarnings("rawtypes")
abstract class SharedCacheComponent {
    final SharedCache shared;
    private GridCacheContext cache;

    SharedCacheComponent(SharedCache shared) {
        this.shared = shared;
    }

    /** Called by Ignite, as the other methods. */
    public void start(GridCacheContext context) {
        cache = context;
    }

    /** Whether this is the component of a started cache, not of near copies: these follow the primary node. */
    final boolean isOfOwners() {
        return cache != null && !cache.isNear();
    }

    public void stop(boolean cancel, boolean destroy) {
        // The provider stops the cache.
    }

    public void onKernalStart() {
        // Nothing to do.
    }

    public void onKernalStop(boolean cancel) {
        // Nothing to do.
    }

    public void onDisconnected(IgniteFuture reconnected) {
        // Server nodes only.
    }

    public void printMemoryStats() {
        // Nothing to print.
    }
}
