package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.FOREIGN_CACHE;

import java.util.Arrays;
import java.util.stream.Stream;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheKeyConfiguration;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;

/**
 * Creates the cache that holds a connector's backlog, and distinguishes it from other caches of that name by a mark.
 *
 * <p>The mark is a key configuration for a type that does not exist, named after the connector. It is part of the
 * cache's configuration: it survives restarts and the loss of all entries, and nodes without this jar can read it.
 *
 * <p>Version 0.1.0 created caches without a mark. Such a cache belongs to the connector if its entry
 * {@link BacklogKey#CAPTURE} holds the capture id of the registry.
 */
final class BacklogCache {
    /** Ignite's default, so that changes of a unit are on the nodes that own its entries. */
    private static final int PARTITIONS = RendezvousAffinityFunction.DFLT_PARTITION_COUNT;

    private static final String MARK = "ignite-kafka.backlog:";
    private static final String MARKED_FIELD = "connector";

    private BacklogCache() {
        // Static methods only.
    }

    /** Returns the connector's cache; creates it if it does not exist. */
    static IgniteCache<BacklogKey, byte[]> ensure(BacklogPlugin plugin, Connector connector) {
        plugin.context().grid().getOrCreateCache(configuration(connector.settings));

        if (!isOwn(plugin, connector.settings)) throw foreign(plugin.context(), connector.settings);

        return plugin.context().grid().cache(connector.settings.cacheName);
    }

    /** Refuses a connector whose cache name is in use by another cache. */
    static void check(BacklogPlugin plugin, ConnectorSettings settings) {
        if (descriptor(plugin.context(), settings.cacheName) != null && !isOwn(plugin, settings))
            throw foreign(plugin.context(), settings);
    }

    /** Whether the connector's cache exists. */
    static boolean isOwn(BacklogPlugin plugin, ConnectorSettings settings) {
        DynamicCacheDescriptor cache = descriptor(plugin.context(), settings.cacheName);

        if (cache == null) return false;

        String marked = markedFor(plugin.context(), settings.cacheName);

        return marked == null ? isAdopted(plugin, settings, cache) : marked.equals(settings.connector);
    }

    /** Whether version 0.1.0 created this cache without a mark for the connector. Each node checks once. */
    private static boolean isAdopted(BacklogPlugin plugin, ConnectorSettings settings, DynamicCacheDescriptor cache) {
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

    /** The capture id in the value of {@link BacklogKey#CAPTURE}. */
    static long captureId(byte[] entry) {
        return Chunk.buffer(entry).getLong();
    }

    /** Whether the cache was created for the backlog of any connector. */
    static boolean isMarked(GridKernalContext ctx, String name) {
        return markedFor(ctx, name) != null;
    }

    /** Key configurations of a cache with the mark of one that this package keeps for itself. */
    static CacheKeyConfiguration[] marked(CacheKeyConfiguration[] given, String purpose) {
        return Stream.concat(
                        given == null ? Stream.empty() : Arrays.stream(given),
                        Stream.of(new CacheKeyConfiguration(MARK + purpose, MARKED_FIELD)))
                .toArray(CacheKeyConfiguration[]::new);
    }

    /** Name of the connector that a cache is marked for, or null for other caches and those of version 0.1.0. */
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

    /** The refusal of a cache that does not belong to the connector. */
    static BacklogException foreign(GridKernalContext ctx, ConnectorSettings settings) {
        String owner = markedFor(ctx, settings.cacheName);
        String problem = owner == null
                ? "is not marked as a backlog cache: it belongs to a user, or version 0.1.0 left it (then destroy it if it is not needed)"
                : "is the backlog cache of connector '" + owner + '\'';

        return new BacklogException(
                FOREIGN_CACHE,
                "cache '" + settings.cacheName + "' cannot hold the backlog of connector '" + settings.connector
                        + "': it " + problem + "; " + ConnectorSettings.CACHE_NAME
                        + " sets the first part of the name");
    }

    private static CacheConfiguration<BacklogKey, byte[]> configuration(ConnectorSettings settings) {
        return new CacheConfiguration<BacklogKey, byte[]>(settings.cacheName)
                .setAtomicityMode(CacheAtomicityMode.ATOMIC)
                .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC)
                .setAffinity(new RendezvousAffinityFunction(false, PARTITIONS))
                .setBackups(settings.backups)
                .setDataRegionName(settings.regionName)
                .setKeyConfiguration(marked(null, settings.connector));
    }
}
