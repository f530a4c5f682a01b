package ignitekafka.backlog;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.affinity.AffinityTopologyVersion;
import org.apache.ignite.internal.processors.cache.GridCacheAdapter;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.distributed.dht.topology.GridDhtLocalPartition;

/**
 * Compares the update counters of a cache's partitions with the numbers in its backlog, to detect what happened while
 * nothing captured the cache.
 */
final class UpdateCounters {
    /** The last chunks of a unit, which are searched for a number that was captured after higher numbers. */
    private static final int CHECKED_CHUNKS = 32;

    private final BacklogPlugin plugin;
    private final GridKernalContext ctx;

    UpdateCounters(BacklogPlugin plugin) {
        this.plugin = plugin;
        ctx = plugin.context();
    }

    /**
     * Whether a deactivation, which empties caches in memory, ended the capture of this cache. Then its services have
     * ended while their nodes still run; or, if the nodes were replaced since, a counter is lower than before.
     */
    boolean wasEmptiedByDeactivation(Connector connector, String cache) {
        return !isPersistent(cache)
                && (connector.registered(cache).stream()
                                .map(CaptureService::node)
                                .anyMatch(id -> ctx.grid().cluster().node(id) != null)
                        || anyDecreased(connector, cache));
    }

    /**
     * Whether the cache has kept its entries over a restart of the whole cluster: it is persistent, and no counter is
     * lower than before.
     */
    boolean survivedRestart(Connector before, String cache) {
        return isPersistent(cache) && !anyDecreased(before, cache);
    }

    private boolean anyDecreased(Connector connector, String cache) {
        Map<Integer, Long> counters = counters(cache);
        Map<Integer, Long> highest = highestNumbers(connector, cache, counters.keySet());

        return highest.entrySet().stream().anyMatch(unit -> counters.get(unit.getKey()) < unit.getValue());
    }

    private boolean isPersistent(String cache) {
        return ctx.cache().cacheDescriptor(cache).groupDescriptor().persistenceEnabled();
    }

    /**
     * Marks units whose counter increased while nothing captured. A counter that only skipped a number is marked too.
     *
     * @param complete Result of {@link #completeNumbers} from before the capture was registered again: later changes
     *     may have higher numbers than the missed ones.
     */
    void markMissed(Connector connector, String cache, Map<Integer, Long> complete) {
        SortedMap<BacklogKey, RecordChange> marks = new TreeMap<>();

        counters(cache).forEach((partition, counter) -> {
            if (counter > complete.getOrDefault(partition, 0L))
                marks.put(connector.unit(cache, partition).record(), RecordChange.mark(UnitRecord.MISSED));
        });

        new BacklogWriter(plugin, connector.settings).change(marks);
    }

    /** Update counters by partition, from the primary nodes. */
    private Map<Integer, Long> counters(String cache) {
        Map<Integer, Long> all = new HashMap<>();

        NodeJob.broadcast(ctx, node -> localCounters(node.context(), cache)).forEach(all::putAll);

        return all;
    }

    private static HashMap<Integer, Long> localCounters(GridKernalContext ctx, String cache) {
        HashMap<Integer, Long> counters = new HashMap<>();
        GridCacheAdapter<?, ?> adapter = ctx.cache().internalCache(cache);

        if (adapter == null) return counters;

        GridCacheContext<?, ?> cctx = adapter.context();
        AffinityTopologyVersion version = ctx.cache().context().exchange().readyAffinityVersion();

        for (int partition : cctx.affinity().primaryPartitions(ctx.localNodeId(), version)) {
            GridDhtLocalPartition local = cctx.topology().localPartition(partition);

            if (local != null) counters.put(partition, local.updateCounter());
        }

        return counters;
    }

    /**
     * By partition, the number up to which none is missing, judged by the unit's last chunks: where all owners of a
     * partition die together, a captured number that was not yet written may be below written ones.
     */
    Map<Integer, Long> completeNumbers(Connector connector, String cache) {
        IgniteCache<BacklogKey, byte[]> backlog = plugin.backlog(connector.settings);
        Map<Integer, Long> complete = new HashMap<>();

        for (int partition = 0; partition < CacheIncarnations.partitions(ctx, cache); partition++) {
            Unit unit = connector.unit(cache, partition);
            byte[] bytes = backlog.get(unit.record());

            if (bytes != null) complete.put(partition, completeNumber(backlog, unit, UnitRecord.decode(bytes)));
        }

        return complete;
    }

    private static long completeNumber(IgniteCache<BacklogKey, byte[]> backlog, Unit unit, UnitRecord record) {
        Ranges known = record.sent;
        long lowest = (record.high - CHECKED_CHUNKS + 1) * Chunk.NUMBERS;

        for (long index = Math.max(record.low, record.high - CHECKED_CHUNKS + 1); index <= record.high; index++) {
            byte[] chunk = backlog.get(unit.chunk(index));

            if (chunk != null) Chunk.decode(chunk).forEach(change -> known.add(change.number, change.number));
        }

        for (Map.Entry<Long, Long> range : known.each()) {
            if (range.getValue() >= lowest) return range.getValue();
        }

        return 0;
    }

    /** By partition, the highest number that is in the backlog or was sent; 0 for none. */
    private Map<Integer, Long> highestNumbers(Connector connector, String cache, Collection<Integer> partitions) {
        IgniteCache<BacklogKey, byte[]> backlog = plugin.backlog(connector.settings);
        Map<Integer, Long> numbers = new HashMap<>();

        for (int partition : partitions) {
            Unit unit = connector.unit(cache, partition);
            byte[] bytes = backlog.get(unit.record());
            long highest = 0;

            if (bytes != null) {
                UnitRecord record = UnitRecord.decode(bytes);
                byte[] chunk = record.high < 0 ? null : backlog.get(unit.chunk(record.high));

                highest = Math.max(0, Math.max(record.sent.last(), chunk == null ? 0 : Chunk.lastNumber(chunk)));
            }

            numbers.put(partition, highest);
        }

        return numbers;
    }
}
