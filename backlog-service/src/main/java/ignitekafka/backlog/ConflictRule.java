package ignitekafka.backlog;

import org.apache.ignite.internal.processors.cache.CacheObjectValueContext;
import org.apache.ignite.internal.processors.cache.version.CacheVersionConflictResolver;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersionConflictContext;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersionedEntryEx;

/**
 * Decides each write of a cache that other clusters write too: a write of a greater {@link EntryVersion} than that of
 * the entry, or of the key's removal, is stored, any other is not. Ignite calls it under the entry's lock, for writes
 * of this cluster and of others, on the primary node and on backups of TRANSACTIONAL caches.
 *
 * <p>This is a total order of the writes of a key, so all copies in all clusters end with the greatest. The clock of
 * {@link VersionClock} gives a write of this cluster a greater version than any that it replaces.
 */
final class ConflictRule implements CacheVersionConflictResolver {
    private final SharedCache cache;

    ConflictRule(SharedCache cache) {
        this.cache = cache;
    }

    @Override
    public <K, V> GridCacheVersionConflictContext<K, V> resolve(
            CacheObjectValueContext ctx,
            GridCacheVersionedEntryEx<K, V> oldEntry,
            GridCacheVersionedEntryEx<K, V> newEntry,
            boolean atomicVerComparator) {
        GridCacheVersionConflictContext<K, V> decision = new GridCacheVersionConflictContext<>(ctx, oldEntry, newEntry);
        EntryVersion written = EntryVersion.of(newEntry.version());

        if (!SharedCache.hasValue(newEntry) && !SharedCache.hasValue(oldEntry) && written.cluster == cache.cluster()) {
            decision.useOld(); // no change that any other cluster hears of

            return decision;
        }

        EntryVersion present = oldEntry.isStartVersion() ? null : EntryVersion.of(oldEntry.version());

        // An ATOMIC cache keeps removed entries for a time: then the version is that of the removal already.
        if (present == null) present = cache.removed(SharedCache.key(newEntry));

        if (present != null && written.compareTo(present) <= 0 || written.order >= VersionClock.END) {
            decision.useOld();
            cache.refused(SharedCache.key(newEntry), written, present);
        }

        return decision;
    }
}
