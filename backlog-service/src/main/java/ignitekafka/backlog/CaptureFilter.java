package ignitekafka.backlog;

import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;
import javax.cache.event.CacheEntryEvent;
import javax.cache.event.EventType;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.cache.CacheEntryEventSerializableFilter;
import org.apache.ignite.cache.query.CacheQueryEntryEvent;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.GridCacheAdapter;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.GridCacheEntryEx;
import org.apache.ignite.internal.processors.cache.GridCacheEntryRemovedException;
import org.apache.ignite.internal.processors.cache.KeyCacheObject;
import org.apache.ignite.resources.IgniteInstanceResource;

/**
 * Remote filter of the continuous query that captures a cache. Ignite calls it on each owner of a partition, primary
 * and backups, with the same number. It passes no event to the query.
 *
 * <p>It runs in the thread that updates the entry, under the entry's lock, so it sees the updates of a key in order. It
 * only copies bytes into {@link NodeCapture}; it never accesses a cache and never waits. It is no
 * {@code @IgniteAsyncCallback}, because that would put an unbounded queue before the bounded buffer, cost a thread
 * switch for each update, and let a barrier return before pending callbacks.
 *
 * <p>Each registration has its own filter. All filters of a cache on a node share one buffer, which ignores duplicates.
 */
final class CaptureFilter implements CacheEntryEventSerializableFilter<Object, Object> {
    private static final long serialVersionUID = 1;

    private final String connector;
    private final Map<String, String> settings;
    private final String cache;
    private final String deployment;
    private final long incarnation;

    @IgniteInstanceResource
    private transient Ignite ignite;

    private transient volatile Source source;

    /**
     * Captures the present deployment of the cache only: a continuous query outlives the cache, and would also see a
     * new one of the same name.
     */
    CaptureFilter(Connector connector, String cache) {
        this.connector = connector.settings.connector;
        settings = connector.settings.asMap();
        this.cache = cache;
        deployment = connector.deployment(cache);
        incarnation = connector.incarnation(cache);
    }

    @Override
    public boolean evaluate(CacheEntryEvent<?, ?> event) {
        add(event, event.getEventType());

        return false;
    }

    /** Captures the removal of a key that has no entry, of which Ignite calls no filter; see {@link AbsentRemovals}. */
    void addRemoval(CacheEntryEvent<?, ?> update) {
        add(update, EventType.REMOVED);
    }

    private void add(CacheEntryEvent<?, ?> event, EventType type) {
        GridKernalContext ctx = ((IgniteEx) ignite).context();
        GridCacheAdapter<?, ?> adapter = ctx.cache().internalCache(cache);

        if (adapter == null) return;

        Source current = source;

        if (current == null || current.found != adapter.context())
            source = current = new Source(ctx, adapter.context());

        if (current.capture != null) current.add(event, type);
    }

    /** One deployment of the cache on this node. */
    private final class Source {
        final GridKernalContext ctx;
        final GridCacheContext<?, ?> found;

        /** That of the copies that the node owns. */
        final GridCacheContext<?, ?> cctx;

        /** Null for another deployment than the one to capture, and while the node stops. */
        final NodeCapture capture;

        /** Whether other clusters write the cache, too. */
        final boolean isShared;

        final AtomicReferenceArray<UnitBuffer> units;

        Source(GridKernalContext ctx, GridCacheContext<?, ?> found) {
            this.ctx = ctx;
            this.found = found;
            cctx = found.isNear() ? found.near().dht().context() : found;
            isShared = BacklogPlugin.of(ctx).activeActive().has(cache);
            capture = deployment.equals(String.valueOf(cctx.dynamicDeploymentId()))
                    ? BacklogPlugin.of(ctx).capture(new ConnectorSettings(connector, settings))
                    : null;
            units = new AtomicReferenceArray<>(cctx.affinity().partitions());
        }

        void add(CacheEntryEvent<?, ?> event, EventType type) {
            Object key = event.getKey();
            UnitBuffer unit = unit(cctx.affinity().partition(key));

            try {
                if (type == EventType.EXPIRED) capture.addExpired(unit, bytes(key));
                else addChange(unit, key, event, type);
            } catch (IgniteCheckedException | RuntimeException e) {
                capture.giveUp(unit, "an update could not be captured: " + e);
            }
        }

        private void addChange(UnitBuffer unit, Object key, CacheEntryEvent<?, ?> event, EventType type)
                throws IgniteCheckedException {
            long number = event.unwrap(CacheQueryEntryEvent.class).getPartitionUpdateCounter();
            byte kind = type == EventType.REMOVED
                    ? Change.REMOVED
                    : type == EventType.CREATED ? Change.CREATED : Change.UPDATED;
            byte[] value = kind == Change.REMOVED ? null : bytes(event.getValue());

            capture.add(
                    unit, new Change(number, System.currentTimeMillis(), kind, bytes(key), value, version(key, event)));
        }

        /** The version that the update gave its entry, whose lock this thread has. */
        private EntryVersion version(Object key, CacheEntryEvent<?, ?> event) throws IgniteCheckedException {
            if (!isShared) return null;

            SharedCache shared = BacklogPlugin.of(ctx).shared().get(cache);
            KeyCacheObject stored = cctx.toCacheKeyObject(key);
            GridCacheEntryEx entry = cctx.cache().peekEx(stored);

            if (entry == null || shared == null) throw new IgniteCheckedException("the entry of the update is gone");

            try {
                boolean isRemoval = event.getEventType() == EventType.REMOVED;

                return shared.captured(
                        stored, isRemoval ? null : event.getValue(), event.getOldValue(), entry.version());
            } catch (GridCacheEntryRemovedException e) {
                throw new IgniteCheckedException(e);
            }
        }

        private UnitBuffer unit(int partition) {
            UnitBuffer unit = units.get(partition);

            if (unit == null)
                units.set(partition, unit = capture.unit(cctx, new Unit(cctx.cacheId(), partition, incarnation)));

            return unit;
        }

        private byte[] bytes(Object value) throws IgniteCheckedException {
            return Lookup.bytes(cctx.cacheObjectContext(), value);
        }
    }
}
