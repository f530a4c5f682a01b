package ignitekafka.backlog;

import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.cache.CacheObject;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.KeyCacheObject;
import org.apache.ignite.internal.processors.cache.persistence.CacheDataRow;
import org.apache.ignite.internal.processors.cache.version.GridCacheLazyPlainVersionedEntry;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersion;
import org.apache.ignite.internal.processors.cache.version.GridCacheVersionedEntryEx;
import org.apache.ignite.internal.util.typedef.internal.U;

/** One deployment, on this node, of a cache that other clusters write too. */
final class SharedCache {
    private static final int LAST_KEYS = 10;
    private static final Field KEY = field("keyObj");
    private static final Field VALUE = field("valObj");

    private final BacklogPlugin plugin;
    private final LongAdder foreignRefused = new LongAdder();
    private final LongAdder localRefused = new LongAdder();
    private final Deque<String> lastKeys = new ArrayDeque<>();
    private final Tombstones tombstones;
    private final WriteRank rank;

    /** What the thread removes, between the rule and the storage of the removal. */
    private final ThreadLocal<Removal> removal = new ThreadLocal<>();

    private volatile GridCacheContext<?, ?> cache;
    private volatile AbsentRemovals absent;

    SharedCache(BacklogPlugin plugin, String name) {
        this.plugin = plugin;
        rank = plugin.activeActive().rank(name);
        tombstones = new Tombstones(plugin, name, rank.rule);
    }

    /** Called when the cache starts, before any of its entries can change. */
    void start(GridCacheContext<?, ?> context) {
        cache = context;
        absent = new AbsentRemovals(context, cluster());
        tombstones.start(context);
        plugin.shared().put(context.name(), this);
    }

    void stop() {
        if (cache != null) plugin.shared().remove(cache.name(), this);
    }

    /** Called under the entry's lock on each node that stores a write, whichever copy it has. */
    void stored(KeyCacheObject key, boolean isRemoval, EntryVersion version) {
        plugin.clock().raise(version.order);

        if (!isRemoval) return;

        tombstones.add(key, version);

        if (version.cluster != cluster()) absent.expect();
    }

    /** Whether the value of a write decides before its order. */
    boolean isRanked() {
        return rank.isGiven();
    }

    /** The version of a put, or, without a value, of a removal that has its rank in its version. */
    EntryVersion version(CacheObject value, GridCacheVersion version) {
        EntryVersion written = EntryVersion.of(version);

        if (!isRanked()) return written.ranked(WriteRank.NONE);

        return value == null ? written : written.ranked(rank.of(value, cache.cacheObjectContext(), plugin.log()));
    }

    /** Notes the rank of a removal of this cluster, until this thread stores it. */
    void removing(KeyCacheObject key, EntryVersion version) {
        removal.set(new Removal(key, version));
    }

    /** The version of a removal as it is stored. */
    EntryVersion removed(KeyCacheObject key, GridCacheVersion version) {
        EntryVersion written = version(null, version);

        if (!isRanked() || EntryVersion.hasRank(version)) return written;

        Removal noted = removal.get();

        removal.remove();

        return noted != null
                        && noted.key.equals(key)
                        && noted.version.ranked(WriteRank.NONE).equals(written)
                ? noted.version
                : written;
    }

    /**
     * The version of a captured write. A backup of an ATOMIC cache learns the rank of a removal here, because Ignite
     * does not call the rule there.
     */
    EntryVersion captured(KeyCacheObject key, Object value, Object before, GridCacheVersion version) {
        EntryVersion written = version(null, version);

        if (!isRanked() || value == null && (before == null || EntryVersion.hasRank(version))) return written;

        written = written.ranked(rank.of(value == null ? before : value, plugin.log()));

        if (value == null) tombstones.raise(key, written);

        return written;
    }

    /**
     * The version of a key's removal for a write of the key; null if none is known. Without its rank, if the removal is
     * so much older than the write.
     *
     * @param present What Ignite still has of the removal, without a rank that is not in its version; may be null.
     */
    EntryVersion removal(KeyCacheObject key, EntryVersion present, EntryVersion write) {
        EntryVersion known = EntryVersion.newerRemoval(present, removed(key), plugin.activeActive().tombstoneMs);

        return known == null ? null : forWrite(known, write);
    }

    /** The version of a removal as it counts against a write; without its rank if the write is so much later. */
    EntryVersion forWrite(EntryVersion removal, EntryVersion write) {
        return removal.isForgotten(write, plugin.activeActive().tombstoneMs) ? removal.ranked(WriteRank.NONE) : removal;
    }

    /** The version of a key's removal; null if none is known. */
    EntryVersion removed(KeyCacheObject key) {
        return tombstones.of(key);
    }

    /** Counts a write that was not stored. One that was stored before, which a sink sends again, is none. */
    void refused(KeyCacheObject key, EntryVersion written, EntryVersion present) {
        // The clock is behind, as after it was set back while all nodes were down; its next write is not to be lost.
        if (written.cluster == cluster() && present != null) plugin.clock().raise(present.order);

        if (written.equals(present) || !isPrimary(key)) return;

        (written.cluster == plugin.activeActive().cluster ? localRefused : foreignRefused).increment();

        synchronized (lastKeys) {
            if (lastKeys.size() == LAST_KEYS) lastKeys.removeFirst();

            lastKeys.add(String.valueOf(plain(cache, key)));
        }
    }

    /** Lets continuous queries go past a write that was not stored. */
    void skipCounter(KeyCacheObject key) {
        RefusedCounters.skip(cache, key);
    }

    private boolean isPrimary(KeyCacheObject key) {
        return cache.affinity()
                .primaryByKey(cache.localNode(), key, cache.affinity().affinityTopologyVersion());
    }

    Tombstones tombstones() {
        return tombstones;
    }

    /** Writes of other clusters that were not stored, of keys that this node is primary of. */
    long foreignRefused() {
        return foreignRefused.sum();
    }

    /** Writes of this cluster that were not stored: the clock of a node was behind, see {@link VersionClock}. */
    long localRefused() {
        return localRefused.sum();
    }

    /** Whether an interceptor may store other values than those that the rule has compared. */
    boolean intercepts() {
        return cache.config().getInterceptor() != null;
    }

    /** Whether reads load entries from a cache store: each would be a new write. */
    boolean readsThrough() {
        return cache.config().isReadThrough();
    }

    /** Keys of the last writes that were not stored, oldest first. */
    List<String> lastKeys() {
        synchronized (lastKeys) {
            return new ArrayList<>(lastKeys);
        }
    }

    /** A key as Ignite's public interfaces take it, without its class. */
    static Object plain(GridCacheContext<?, ?> cache, KeyCacheObject key) {
        return key instanceof BinaryObject ? key : key.value(cache.cacheObjectContext(), false);
    }

    /** The entry of a key on this node: value and version belong together; null if it is absent or expired. */
    static CacheDataRow row(GridKernalContext ctx, GridCacheContext<?, ?> cache, KeyCacheObject key) {
        ctx.cache().context().database().checkpointReadLock();

        try {
            CacheDataRow row = cache.offheap().read(cache, key);

            return row == null || row.expireTime() > 0 && row.expireTime() <= U.currentTimeMillis() ? null : row;
        } catch (IgniteCheckedException e) {
            throw U.convertException(e);
        } finally {
            ctx.cache().context().database().checkpointReadUnlock();
        }
    }

    /** Id of this cluster. */
    byte cluster() {
        return plugin.activeActive().cluster;
    }

    /** The key of an entry that Ignite passes to a conflict resolver. Ignite's own getter needs the key's class. */
    static KeyCacheObject key(GridCacheVersionedEntryEx<?, ?> entry) {
        return (KeyCacheObject) get(KEY, entry);
    }

    /** The value of such an entry; null for a removal, or for a key that is absent. */
    static CacheObject value(GridCacheVersionedEntryEx<?, ?> entry) {
        return (CacheObject) get(VALUE, entry);
    }

    private static Object get(Field field, GridCacheVersionedEntryEx<?, ?> entry) {
        try {
            return field.get(entry);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Field field(String name) {
        try {
            Field field = GridCacheLazyPlainVersionedEntry.class.getDeclaredField(name);

            field.setAccessible(true);

            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A removal, and its version with its rank. */
    private static final class Removal {
        final KeyCacheObject key;
        final EntryVersion version;

        Removal(KeyCacheObject key, EntryVersion version) {
            this.key = key;
            this.version = version;
        }
    }
}
