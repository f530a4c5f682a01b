package ignitekafka.backlog;

import org.apache.ignite.internal.processors.cache.CacheConflictResolutionManager;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.version.CacheVersionConflictResolver;
import org.apache.ignite.lang.IgniteFuture;

/** Ignite's component of a cache that makes its {@link ConflictRule}. */
final class ConflictManager implements CacheConflictResolutionManager<Object, Object> {
    private final SharedCache shared;
    private GridCacheContext<?, ?> cache;

    ConflictManager(SharedCache shared) {
        this.shared = shared;
    }

    @Override
    public void start(GridCacheContext<Object, Object> context) {
        cache = context;

        if (!context.isNear()) shared.start(context);
    }

    /** None for near copies: they follow the primary node. */
    @Override
    public CacheVersionConflictResolver conflictResolver() {
        return cache.isNear() ? null : new ConflictRule(shared);
    }

    @Override
    public void stop(boolean cancel, boolean destroy) {
        // The provider stops the cache.
    }

    @Override
    public void onKernalStart() {
        // Nothing to do.
    }

    @Override
    public void onKernalStop(boolean cancel) {
        // Nothing to do.
    }

    @Override
    public void onDisconnected(IgniteFuture<?> reconnected) {
        // Server nodes only.
    }

    @Override
    public void printMemoryStats() {
        // Nothing to print.
    }
}
