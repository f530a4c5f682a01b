package ignitekafka.backlog;

import org.apache.ignite.internal.processors.affinity.AffinityTopologyVersion;
import org.apache.ignite.internal.processors.cache.CacheObject;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.KeyCacheObject;
import org.apache.ignite.internal.processors.cache.dr.GridCacheDrManager;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersion;
import org.apache.ignite.internal.processors.dr.GridDrType;
import org.apache.ignite.lang.IgniteFuture;

/**
 * Ignite's component of a cache that hears of each write as it is stored, under the entry's lock, on the primary node,
 * on backups and while partitions move; also of the removal of a key that is not there.
 */
final class StoredWrites implements GridCacheDrManager {
    private final SharedCache shared;
    private GridCacheContext<?, ?> cache;

    StoredWrites(SharedCache shared) {
        this.shared = shared;
    }

    @Override
    public void replicate(
            KeyCacheObject key,
            CacheObject value,
            long ttl,
            long expireTime,
            GridCacheVersion version,
            GridDrType type,
            AffinityTopologyVersion topology) {
        shared.stored(key, value == null, EntryVersion.of(version));
    }

    @Override
    public byte dataCenterId() {
        return shared.cluster();
    }

    @Override
    public boolean enabled() {
        return cache != null && !cache.isNear();
    }

    /** Keeps Ignite from writing several keys at once past the rule, as it does with a cache store. */
    @Override
    public boolean receiveEnabled() {
        return enabled();
    }

    @Override
    @SuppressWarnings("rawtypes")
    public void start(GridCacheContext context) {
        cache = context;
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
    @SuppressWarnings("rawtypes")
    public void onDisconnected(IgniteFuture reconnected) {
        // Server nodes only.
    }

    @Override
    public void printMemoryStats() {
        // Nothing to print.
    }

    @Override
    public void onExchange(AffinityTopologyVersion topology, boolean left, boolean activated) {
        // Ignite raises the clocks of nodes itself.
    }

    @Override
    public void partitionEvicted(int partition) {
        // The side cache moves with the cache.
    }

    @Override
    public void onReceiveCacheEntriesReceived(int count) {
        // The rule counts.
    }

    @Override
    public void onReceiveCacheConflictResolved(boolean useNew, boolean useOld, boolean merge) {
        // The rule counts.
    }

    @Override
    public void resetMetrics() {
        // Counts are those since the start of the node.
    }
}
