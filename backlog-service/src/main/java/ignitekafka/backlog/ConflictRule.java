package ignitekafka.backlog;

import org.apache.ignite.internal.processors.cache.CacheObject;
import org.apache.ignite.internal.processors.cache.CacheObjectValueContext;
import org.apache.ignite.internal.processors.cache.version.CacheVersionConflictResolver;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersionConflictContext;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersionedEntryEx;

/**
 * Decides each write of a cache that other clusters write too: a write of a greater {@link EntryVersion} than that of
 * the entry, or of the key's removal, is stored, any other is not. Without a {@link WriteRank} these are its order and
 * cluster. Ignite calls it under the entry's lock, for writes of this cluster and of others, on the primary node and on
 * backups of TRANSACTIONAL caches.
 *
 * <p>This is a total order of the writes of a key, so all copies in all clusters end with the greatest. The clock of
 * {@link VersionClock} gives a write of this cluster a greater order than any that it replaces; a removal has the rank
 * of what it removes. A put of this cluster is refused as any other if its rank is less than what is there.
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
        CacheObject value = SharedCache.value(newEntry);
        CacheObject before = SharedCache.value(oldEntry);
        EntryVersion written = cache.version(value, newEntry.version());

        boolean isProgram = written.cluster == cache.cluster() && !EntryVersion.hasRank(newEntry.version());

        if (value == null && before == null && isProgram) {
            decision.useOld(); // no change that any other cluster hears of
            cache.skipCounter(SharedCache.key(newEntry));

            return decision;
        }

        EntryVersion present = oldEntry.isStartVersion() ? null : cache.version(before, oldEntry.version());

        // An ATOMIC cache keeps removed entries for a time: then the version is that of the removal, without its rank.
        if (before == null && (present == null || cache.isRanked()))
            present = cache.removal(SharedCache.key(newEntry), present, written);

        boolean removes = value == null && present != null && isProgram && cache.isRanked();

        if (removes) written = written.ranked(present.rank);
        else if (value == null && present != null) written = cache.forWrite(written, present); // it comes late

        long end = written.cluster == cache.cluster() ? VersionClock.END : VersionClock.FOREIGN_END;

        if (present != null && written.compareTo(present) <= 0 || written.order >= end) {
            decision.useOld();
            cache.refused(SharedCache.key(newEntry), written, present);
            cache.skipCounter(SharedCache.key(newEntry));
        } else if (removes) {
            cache.removing(SharedCache.key(newEntry), written);
        }

        return decision;
    }
}
