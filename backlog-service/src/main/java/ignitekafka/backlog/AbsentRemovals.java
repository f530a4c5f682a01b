package ignitekafka.backlog;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.Map;
import java.util.UUID;
import javax.cache.event.CacheEntryEventFilter;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.cache.query.CacheQueryEntryEvent;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.GridCacheEntryEx;
import org.apache.ignite.internal.processors.cache.GridCacheEntryRemovedException;
import org.apache.ignite.internal.processors.cache.query.continuous.CacheContinuousQueryHandler;
import org.apache.ignite.internal.processors.cache.query.continuous.CacheContinuousQueryListener;

/**
 * Gives captures of a {@link SharedCache} the removals of other clusters that find no entry. Such a removal changes
 * nothing here, so Ignite calls no filter of a query; but its version is new, and the next cluster of a ring may have
 * an older put of the key.
 *
 * <p>Ignite passes the update counter of each such update to the listeners of the continuous queries, on all owners,
 * under the entry's lock. This is one more listener, beside those that Ignite makes for each query. A type in the
 * methods of a listener is not public, so it is a proxy.
 */
@SuppressWarnings({"rawtypes", "unchecked"})
final class AbsentRemovals {
    private final UUID id = UUID.randomUUID();
    private final GridCacheContext<?, ?> cache;
    private final byte cluster;
    private final CacheContinuousQueryListener listener;

    /** Ignite's own map, which is live. */
    private volatile Map<UUID, CacheContinuousQueryListener> listeners = Collections.emptyMap();

    /**
     * Made when the cache starts.
     *
     * @param cluster Id of this cluster.
     */
    AbsentRemovals(GridCacheContext<?, ?> cache, byte cluster) {
        this.cache = cache;
        this.cluster = cluster;
        listener = (CacheContinuousQueryListener) Proxy.newProxyInstance(
                AbsentRemovals.class.getClassLoader(),
                new Class<?>[] {CacheContinuousQueryListener.class},
                (proxy, method, arguments) -> called(method, arguments));
    }

    /** Called under the entry's lock before Ignite notifies the queries of a removal by another cluster. */
    void expect() {
        Map<UUID, CacheContinuousQueryListener> present =
                cache.continuousQueries().updateListeners(false, false);

        if (present == null) return; // no query captures the cache

        present.putIfAbsent(id, listener);
        listeners = present;
    }

    private Object called(Method method, Object[] arguments) throws Exception {
        switch (method.getName()) {
            case "skipUpdateEvent":
                skipped((CacheQueryEntryEvent<?, ?>) arguments[0]);

                return null;

            case "skipUpdateCounter":
                return arguments[1]; // what other listeners of the update have to do

            case "keepBinary":
                return true;

            default:
                return method.getReturnType() == boolean.class ? false : null;
        }
    }

    private void skipped(CacheQueryEntryEvent<?, ?> update) throws IgniteCheckedException {
        if (update.getKey() == null || !isRemovedByAnother(update.getKey())) return;

        for (CacheContinuousQueryListener other : listeners.values()) {
            if (other == listener) continue;

            CacheEntryEventFilter filter = handler(other).getEventFilter();

            if (filter instanceof CaptureFilter) ((CaptureFilter) filter).addRemoval(update);
        }
    }

    /** Not so for updates that came late to a backup, whose entry is newer, nor for numbers without an update. */
    private boolean isRemovedByAnother(Object key) throws IgniteCheckedException {
        GridCacheEntryEx entry = cache.cache().peekEx(cache.toCacheKeyObject(key));

        try {
            return entry != null && entry.rawGet() == null && EntryVersion.of(entry.version()).cluster != cluster;
        } catch (GridCacheEntryRemovedException e) {
            return false;
        }
    }

    /** What Ignite made a listener for: the instance around its class, which has no name. */
    private static CacheContinuousQueryHandler handler(CacheContinuousQueryListener of) {
        try {
            Field handler = of.getClass().getDeclaredField("this$0");

            handler.setAccessible(true);

            return (CacheContinuousQueryHandler) handler.get(of);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
