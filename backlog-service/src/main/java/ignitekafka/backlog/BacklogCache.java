package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.FOREIGN_CACHE;

import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheKeyConfiguration;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;

/**
 * The cache that holds a connector's backlog, told from any other cache of that name by a mark.
 *
 * <p>The mark is a key configuration of a type that does not exist, named after the connector. It is part of the
 * cache's configuration, so it lives as long as the cache: on disk, over restarts, and where all entries are lost; and
 * every node reads it, with this jar or without.
 *
 * <p>Version 0.1.0 made caches without it. Such a one is the connector's if it holds the entry
 * {@link BacklogKey#CAPTURE}, of a class of this jar, with the id of the capture that the registry has.
 */
final class BacklogCache {
    /** Of the backlog cache. As many as Ignite's default, so that a unit's changes are where its entries are. */
    private static final int PARTITIONS = RendezvousAffinityFunction.DFLT_PARTITION_COUNT;

    private static final String MARK = "ignite-kafka.backlog:";
    private static final String MARKED_FIELD = "connector";

    private BacklogCache() {
        // Static methods only.
    }

    /** Makes the connector's cache unless it is there. */
    static IgniteCache<BacklogKey, byte[]> ensure(BacklogPlugin plugin, Connector connector) {
        plugin.context().grid().getOrCreateCache(configuration(connector.settings));

        if (!mine(plugin, connector.settings)) throw foreign(plugin.context(), connector.settings);

        return plugin.context().grid().cache(connector.settings.cacheName);
    }

    /** Refuses a connector whose cache's name is that of a cache which is not its own. */
    static void check(BacklogPlugin plugin, ConnectorSettings settings) {
        if (descriptor(plugin.context(), settings.cacheName) != null && !mine(plugin, settings))
            throw foreign(plugin.context(), settings);
    }

    /** Whether the cache of that name is there, and this connector's. */
    static boolean mine(BacklogPlugin plugin, ConnectorSettings settings) {
        DynamicCacheDescriptor cache = descriptor(plugin.context(), settings.cacheName);

        if (cache == null) return false;

        String marked = markedFor(plugin.context(), settings.cacheName);

        return marked == null ? ofBefore(plugin, settings, cache) : marked.equals(settings.connector);
    }

    /** Whether a cache without a mark is the one that version 0.1.0 made for this connector. Each node looks once. */
    private static boolean ofBefore(BacklogPlugin plugin, ConnectorSettings settings, DynamicCacheDescriptor cache) {
        String adopted = cache.deploymentId() + "/" + settings.connector;

        if (!plugin.adopted().contains(adopted)
                && holdsCapture(plugin, plugin.registry().find(settings.connector), cache))
            plugin.adopted().add(adopted);

        return plugin.adopted().contains(adopted);
    }

    private static boolean holdsCapture(BacklogPlugin plugin, Connector connector, DynamicCacheDescriptor cache) {
        if (connector == null || !connector.begun() || !connector.settings.cacheName.equals(cache.cacheName()))
            return false;

        IgniteCache<Object, Object> found = plugin.context().grid().cache(cache.cacheName());
        Object entry = found == null ? null : found.withSkipStore().get(BacklogKey.CAPTURE);

        return entry instanceof byte[]
                && ((byte[]) entry).length == Long.BYTES
                && captureId((byte[]) entry) == connector.captureId();
    }

    /** The capture that an entry {@link BacklogKey#CAPTURE} names. */
    static long captureId(byte[] entry) {
        return Chunk.buffer(entry).getLong();
    }

    /** Whether the cache of that name was made for some connector's backlog. */
    static boolean isMarked(GridKernalContext ctx, String name) {
        return markedFor(ctx, name) != null;
    }

    /** The connector for which a cache was made, or null: it is no backlog cache, or one of version 0.1.0. */
    private static String markedFor(GridKernalContext ctx, String name) {
        DynamicCacheDescriptor cache = descriptor(ctx, name);
        CacheKeyConfiguration[] keys =
                cache == null ? null : cache.cacheConfiguration().getKeyConfiguration();

        if (keys != null) {
            for (CacheKeyConfiguration key : keys) {
                if (MARKED_FIELD.equals(key.getAffinityKeyFieldName())
                        && key.getTypeName() != null
                        && key.getTypeName().startsWith(MARK))
                    return key.getTypeName().substring(MARK.length());
            }
        }

        return null;
    }

    private static DynamicCacheDescriptor descriptor(GridKernalContext ctx, String name) {
        return ctx.cache().cacheDescriptor(name);
    }

    static BacklogException foreign(GridKernalContext ctx, ConnectorSettings settings) {
        String of = markedFor(ctx, settings.cacheName);
        String whose = of == null
                ? "is not marked as a backlog cache: it is a user's, or was left by version 0.1.0 (if so, and if it is not needed, destroy it)"
                : "is the backlog cache of connector '" + of + '\'';

        return new BacklogException(
                FOREIGN_CACHE,
                "cache '" + settings.cacheName + "', where connector '" + settings.connector
                        + "' would keep its backlog, " + whose + "; " + ConnectorSettings.CACHE_NAME
                        + " gives the first part of its name");
    }

    private static CacheConfiguration<BacklogKey, byte[]> configuration(ConnectorSettings settings) {
        return new CacheConfiguration<BacklogKey, byte[]>(settings.cacheName)
                .setAtomicityMode(CacheAtomicityMode.ATOMIC)
                .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC)
                .setAffinity(new RendezvousAffinityFunction(false, PARTITIONS))
                .setBackups(settings.backups)
                .setDataRegionName(settings.regionName)
                .setKeyConfiguration(new CacheKeyConfiguration(MARK + settings.connector, MARKED_FIELD));
    }
}
