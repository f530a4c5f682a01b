package ignitekafka.backlog;

import org.apache.ignite.internal.processors.cache.CacheConflictResolutionManager;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.version.CacheVersionConflictResolver;

/** Ignite's component of a cache that makes its {@link ConflictRule}. */
final class ConflictManager extends SharedCacheComponent implements CacheConflictResolutionManager<Object, Object> {
    ConflictManager(SharedCache shared) {
        super(shared);
    }

    @Override
    @SuppressWarnings({"rawtypes", "unchecked"})
    public void start(GridCacheContext context) {
        super.start(context);

        if (isOfOwners()) shared.start(context);
    }

    @Override
    public CacheVersionConflictResolver conflictResolver() {
        return isOfOwners() ? new ConflictRule(shared) : null;
    }
}
