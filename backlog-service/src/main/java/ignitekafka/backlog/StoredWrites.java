package ignitekafka.backlog;

import org.apache.ignite.internal.processors.affinity.AffinityTopologyVersion;
import org.apache.ignite.internal.processors.cache.CacheObject;
import org.apache.ignite.internal.processors.cache.KeyCacheObject;
import org.apache.ignite.internal.processors.cache.dr.GridCacheDrManager;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersion;
import org.apache.ignite.internal.processors.dr.GridDrType;

/**
 * Ignite's component of a cache that hears of each write as it is stored, under the entry's lock, on the primary node,
 * on backups and while partitions move; also of the removal of a key that is not there.
 */
final class StoredWrites extends SharedCacheComponent implements GridCacheDrManager {
    StoredWrites(SharedCache shared) {
        super(shared);
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
        shared.stored(key, value == null, value == null ? shared.removed(key, version) : EntryVersion.of(version));
    }

    @Override
    public byte dataCenterId() {
        return shared.cluster();
    }

    @Override
    public boolean enabled() {
        return isOfOwners();
    }

    /** Keeps Ignite from writing several keys at once past the rule, as it does with a cache store. */
    @Override
    public boolean receiveEnabled() {
        return enabled();
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
