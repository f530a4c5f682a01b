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
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.KeyCacheObject;
import org.apache.ignite.internal.processors.cache.persistence.CacheDataRow;
import org.apache.ignite.internal.processors.cache.version.GridCacheLazyPlainVersionedEntry;
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
    private volatile GridCacheContext<?, ?> cache;
    private volatile AbsentRemovals absent;

    SharedCache(BacklogPlugin plugin, String name) {
        this.plugin = plugin;
        tombstones = new Tombstones(plugin, name);
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

    /** Whether such an entry has a value. */
    static boolean hasValue(GridCacheVersionedEntryEx<?, ?> entry) {
        return get(VALUE, entry) != null;
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
}
