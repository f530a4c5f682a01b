package ignitekafka.backlog;

import javax.cache.Cache;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.internal.processors.cache.CacheConflictResolutionManager;
import org.apache.ignite.internal.processors.cache.dr.GridCacheDrManager;
import org.apache.ignite.plugin.CachePluginConfiguration;
import org.apache.ignite.plugin.CachePluginProvider;

/** Gives a cache that other clusters write too its {@link ConflictManager} and {@link StoredWrites}. */
final class SharedCacheProvider implements CachePluginProvider<CachePluginConfiguration<Object, Object>> {
    private final SharedCache cache;

    SharedCacheProvider(SharedCache cache) {
        this.cache = cache;
    }

    @Override
    public <T> T createComponent(Class<T> type) {
        if (type.equals(CacheConflictResolutionManager.class)) return type.cast(new ConflictManager(cache));

        return type.equals(GridCacheDrManager.class) ? type.cast(new StoredWrites(cache)) : null;
    }

    @Override
    public void start() {
        // The conflict manager starts with the cache.
    }

    @Override
    public void stop(boolean cancel) {
        cache.stop();
    }

    @Override
    public void onIgniteStart() {
        // Nothing to do.
    }

    @Override
    public void onIgniteStop(boolean cancel) {
        // Nothing to do.
    }

    @Override
    public void validate() {
        // Any cache may be shared.
    }

    @Override
    @SuppressWarnings("rawtypes")
    public void validateRemote(CacheConfiguration local, CacheConfiguration remote, ClusterNode node) {
        // Nodes compare their whole configuration when one joins.
    }

    @Override
    public <T, K, V> T unwrapCacheEntry(Cache.Entry<K, V> entry, Class<T> type) {
        return null;
    }
}
