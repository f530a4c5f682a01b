package ignitekafka.backlog;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import javax.cache.expiry.Duration;
import javax.cache.expiry.ModifiedExpiryPolicy;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.affinity.AffinityFunction;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.cache.CacheObject;
import org.apache.ignite.internal.processors.cache.GridCacheAdapter;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.KeyCacheObject;
import org.apache.ignite.internal.processors.cache.persistence.CacheDataRow;
import org.apache.ignite.internal.util.typedef.internal.U;
import org.apache.ignite.lang.IgniteFuture;
import org.apache.ignite.marshaller.Marshaller;

/**
 * Versions of the removed keys of a {@link SharedCache}: Ignite forgets them, and an older write of another cluster
 * would bring a key back.
 *
 * <p>A removal puts its version into memory, under the entry's lock, on the primary node and on backups. A thread of
 * the node moves it into a side cache, whose entries are on the same nodes as those of the cache, and expire after
 * {@link ActiveActive#TOMBSTONE_MS}. The primary node writes at once; a backup keeps its own until the primary has
 * written them, and writes them itself if the primary has not within {@value #HOLD_MS} ms.
 */
final class Tombstones {
    /** First part of the name of a side cache; the name of the cache follows. */
    static final String PREFIX = "ignite-kafka-tombstones-";

    private static final int BATCH = 1_000;
    private static final long HOLD_MS = 3_000;

    private final BacklogPlugin plugin;
    private final GridKernalContext ctx;
    private final String cacheName;
    private final String sideName;
    private final Map<KeyCacheObject, Tombstone> inMemory = new ConcurrentHashMap<>();
    private final LongAdder dropped = new LongAdder();
    private volatile GridCacheContext<?, ?> cache;

    Tombstones(BacklogPlugin plugin, String cacheName) {
        this.plugin = plugin;
        this.cacheName = cacheName;
        ctx = plugin.context();
        sideName = PREFIX + cacheName;
    }

    void start(GridCacheContext<?, ?> context) {
        cache = context;
    }

    void add(KeyCacheObject key, EntryVersion version) {
        if (inMemory.size() >= plugin.activeActive().maxTombstones && !inMemory.containsKey(key)) {
            if (dropped.sum() == 0)
                plugin.log()
                        .warning("Versions of removed keys of cache '" + cacheName + "' are dropped, because "
                                + plugin.activeActive().maxTombstones + " (" + ActiveActive.MAX_TOMBSTONES
                                + ") wait in memory for cache '" + sideName
                                + "': an older write of another cluster can bring such a key back");

            dropped.increment();

            return;
        }

        inMemory.merge(
                key,
                new Tombstone(version, System.nanoTime()),
                (one, other) -> other.version.compareTo(one.version) > 0 ? other : one);
    }

    /** Replaces a version that waits in memory by one with its rank. */
    void raise(KeyCacheObject key, EntryVersion version) {
        inMemory.computeIfPresent(
                key, (one, held) -> version.compareTo(held.version) > 0 ? new Tombstone(version, held.nanos) : held);
    }

    /** The version of a key's removal; null if none is known. Takes no lock of an entry. */
    EntryVersion of(KeyCacheObject key) {
        Tombstone held = inMemory.get(key);

        return EntryVersion.greater(held == null ? null : held.version, stored(key));
    }

    private EntryVersion stored(KeyCacheObject key) {
        GridCacheAdapter<?, ?> side = ctx.cache().internalCache(sideName);

        if (side == null) return null;

        CacheDataRow row = SharedCache.row(ctx, side.context(), key);

        if (row == null) return null;

        CacheObject value = row.value();
        byte[] bytes = value.value(side.context().cacheObjectContext(), false);

        return EntryVersion.read(Chunk.buffer(bytes));
    }

    /** Versions that wait in memory. */
    int waiting() {
        return inMemory.size();
    }

    /** Versions that found no place in memory. */
    long dropped() {
        return dropped.sum();
    }

    /**
     * Moves versions into the side cache.
     *
     * @param all Whether to move those of backups at once.
     */
    void flush(boolean all) {
        if (inMemory.isEmpty() || !ctx.state().publicApiActiveState(false)) return;

        IgniteCache<Object, byte[]> side = null;
        Map<KeyCacheObject, Tombstone> batch = new HashMap<>();

        for (Map.Entry<KeyCacheObject, Tombstone> one : inMemory.entrySet()) {
            if (!isDue(one.getKey(), one.getValue(), all)) continue;

            batch.put(one.getKey(), one.getValue());

            if (batch.size() == BATCH) {
                move(side = side == null ? side() : side, batch);
                batch.clear();
            }
        }

        if (!batch.isEmpty()) move(side == null ? side() : side, batch);
    }

    /** Whether to store a version; the copy of a backup ends as soon as the primary node has stored it. */
    private boolean isDue(KeyCacheObject key, Tombstone tombstone, boolean all) {
        if (cache.affinity()
                .primaryByKey(cache.localNode(), key, cache.affinity().affinityTopologyVersion())) return true;

        EntryVersion stored = stored(key);

        if (stored == null || stored.compareTo(tombstone.version) < 0)
            return all || System.nanoTime() - tombstone.nanos > HOLD_MS * 1_000_000;

        inMemory.remove(key, tombstone);

        return false;
    }

    /** One write for each key: batches of two nodes could lock each other's entries. */
    private void move(IgniteCache<Object, byte[]> side, Map<KeyCacheObject, Tombstone> batch) {
        Map<KeyCacheObject, IgniteFuture<Void>> writes = new HashMap<>();

        batch.forEach((key, tombstone) -> writes.put(
                key, side.invokeAsync(SharedCache.plain(cache, key), new TombstoneChange(tombstone.version))));
        writes.forEach((key, write) -> {
            write.get();
            inMemory.remove(key, batch.get(key));
        });
    }

    private IgniteCache<Object, byte[]> side() {
        return ctx.grid().getOrCreateCache(configuration()).withKeepBinary();
    }

    private CacheConfiguration<Object, byte[]> configuration() {
        CacheConfiguration<?, ?> given = cache.config();
        CacheConfiguration<Object, byte[]> side = new CacheConfiguration<Object, byte[]>(sideName)
                .setCacheMode(given.getCacheMode())
                .setAtomicityMode(CacheAtomicityMode.ATOMIC)
                .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC)
                .setBackups(given.getBackups())
                .setAffinity(copied(given.getAffinity()))
                .setNodeFilter(given.getNodeFilter())
                .setDataRegionName(given.getDataRegionName())
                .setKeyConfiguration(BacklogCache.marked(given.getKeyConfiguration(), "tombstones of " + cacheName));

        side.setExpiryPolicyFactory(
                ModifiedExpiryPolicy.factoryOf(new Duration(TimeUnit.MILLISECONDS, plugin.activeActive().tombstoneMs)));

        return side;
    }

    /** A function of its own for the side cache, because Ignite injects resources into it. */
    private AffinityFunction copied(AffinityFunction given) {
        Marshaller java = ctx.marshallerContext().jdkMarshaller();

        try {
            return U.unmarshal(java, U.marshal(java, given), U.resolveClassLoader(null, ctx.config()));
        } catch (IgniteCheckedException e) {
            throw U.convertException(e);
        }
    }

    /** A version, and when it came into memory. */
    private static final class Tombstone {
        final EntryVersion version;
        final long nanos;

        Tombstone(EntryVersion version, long nanos) {
            this.version = version;
            this.nanos = nanos;
        }
    }
}
