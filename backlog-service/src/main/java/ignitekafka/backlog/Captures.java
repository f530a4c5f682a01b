package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.UNAVAILABLE;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.affinity.AffinityTopologyVersion;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;
import org.apache.ignite.internal.processors.cache.GridCacheAdapter;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.distributed.dht.topology.GridDhtLocalPartition;
import org.apache.ignite.internal.util.typedef.internal.CU;
import org.apache.ignite.services.ServiceConfiguration;

/**
 * Brings a connector's capture to what the registry says, from any node and again after a restart of the whole cluster,
 * and finds what was lost while nothing captured.
 */
final class Captures {
    private static final long REGISTERED_WITHIN_MS = 20_000;
    private static final long REGISTER_AGAIN_MS = 100;

    /** Of a unit, the last: where a number is looked for that was captured after higher ones. */
    private static final int CHECKED_CHUNKS = 32;

    private final BacklogPlugin plugin;
    private final GridKernalContext ctx;
    private final Ignite ignite;

    Captures(BacklogPlugin plugin) {
        this.plugin = plugin;
        ctx = plugin.context();
        ignite = ctx.grid();
    }

    /**
     * Makes the backlog cache and the records of new incarnations, has the queries registered, and returns when they
     * are.
     */
    Connector ensure(String name) {
        Connector connector = ensureCache(plugin.registry().get(name));

        registerTypes();

        Set<String> dead = dead(name);

        for (String cache : connector.caches()) connector = prepare(connector, cache, dead);

        ignite.services(ignite.cluster().forServers().forPredicate(BacklogPluginProvider.nodes()))
                .deploy(new ServiceConfiguration()
                        .setName(connector.settings.serviceName)
                        .setTotalCount(CaptureService.COPIES)
                        .setMaxPerNodeCount(1)
                        .setNodeFilter(BacklogPluginProvider.nodes())
                        .setService(new CaptureService(name)));

        return register(connector);
    }

    /**
     * A type's first use waits for the whole cluster: now, not in the first write, and not in the last one of a node
     * that was cut off.
     */
    private void registerTypes() {
        for (Object change : new Object[] {RecordChange.check(), ChunkChange.add(new byte[0]), ExpiredKeys.remove(0)})
            ignite.binary().toBinary(change);
    }

    /** Has the nodes register until enough have; one is enough to capture, none is a failure. */
    private Connector register(Connector connector) {
        String name = connector.settings.connector;
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(REGISTERED_WITHIN_MS);

        for (; ; ) {
            reconcile(connector);

            Connector now = plugin.registry().get(name);
            int nodes = ignite.cluster()
                    .forServers()
                    .forPredicate(BacklogPluginProvider.nodes())
                    .nodes()
                    .size();
            Set<String> services = services(name);
            int fewest = now.caches().stream()
                    .filter(cache -> now.deployment(cache) != null && deployment(ctx, cache) != null)
                    .mapToInt(cache -> alive(now, cache, services).size())
                    .min()
                    .orElse(CaptureService.COPIES);

            if (fewest >= Math.min(nodes, CaptureService.COPIES) || fewest > 0 && System.nanoTime() > until) return now;

            if (System.nanoTime() > until)
                throw new BacklogException(UNAVAILABLE, "no node registered the capture of connector '" + name + '\'');

            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(REGISTER_AGAIN_MS));
        }
    }

    /** Has every node that holds the connector's capture service register what is wanted. */
    private void reconcile(Connector connector) {
        String name = connector.settings.connector;
        HashSet<String> dead = dead(name);

        NodeJob.everywhere(ctx, node -> {
            CaptureService service = node.serviceOrNull(name);

            if (service != null) service.reconcile(dead);

            return null;
        });
    }

    /**
     * Has every node write what it captured before the call: the primaries first, so that the backups find it written.
     */
    void flush(String name) {
        flush(name, false);
        flush(name, true);
    }

    private void flush(String name, boolean all) {
        NodeJob.everywhere(ctx, node -> {
            NodeCapture capture = node.captureOrNull(name);

            if (capture != null) capture.flush(all);

            return null;
        });
    }

    /**
     * A backlog cache without this capture's id is new, or an earlier capture's: what this one had written is lost, so
     * it begins anew.
     */
    private Connector ensureCache(Connector connector) {
        IgniteCache<BacklogKey, byte[]> backlog = BacklogCache.ensure(plugin, connector);
        byte[] held = backlog.get(BacklogKey.CAPTURE);

        if (held != null && BacklogCache.captureId(held) == connector.captureId()) return connector;

        long known = connector.captureId();

        if (held != null) backlog.clear();

        return plugin.registry().update(connector.settings.connector, present -> {
            Connector current = present.begun() && present.captureId() == known ? present.renewed() : present;

            backlog.put(
                    BacklogKey.CAPTURE,
                    Chunk.buffer(new byte[8]).putLong(current.captureId()).array());

            return current.begin();
        });
    }

    /**
     * Gives a cache that is not captured, is another one by now, or was emptied, an incarnation and the records of its
     * units.
     */
    Connector prepare(Connector before, String cache, Set<String> dead) {
        String deployment = deployment(ctx, cache);

        if (deployment == null) return before;

        boolean known = deployment.equals(before.deployment(cache));

        if (known && !(uncaptured(before, cache, dead) && emptied(before, cache))) return before;

        boolean same = !known
                && before.deployment(cache) != null
                && dead.containsAll(before.registered(cache))
                && survived(before, cache);
        int partitions = partitions(cache);
        Connector after = plugin.registry()
                .update(
                        before.settings.connector,
                        present -> present.incarnation(cache) != before.incarnation(cache)
                                ? present
                                : present.deployed(cache, deployment, partitions, same));

        if (!same) {
            forget(before, cache);
            createRecords(after, cache);
        }

        return after;
    }

    /**
     * Removes all that nodes and backlog hold of the cache's incarnation, if there is one. The cache need not be there
     * any more.
     */
    void forget(Connector connector, String cache) {
        String name = connector.settings.connector;
        int cacheId = CU.cacheId(cache);
        long incarnation = connector.incarnation(cache);

        if (incarnation == 0) return;

        NodeJob.everywhere(ctx, node -> {
            NodeCapture capture = node.captureOrNull(name);

            if (capture != null) capture.forget(cacheId, incarnation);

            return null;
        });

        BacklogWriter writer = new BacklogWriter(plugin, connector.settings);

        for (int partition = 0; partition < connector.partitions(cache); partition++)
            writer.forget(unit(connector, cache, partition));
    }

    private void createRecords(Connector connector, String cache) {
        Map<BacklogKey, RecordChange> records = new TreeMap<>();

        for (int partition = 0; partition < partitions(cache); partition++)
            records.put(unit(connector, cache, partition).record(), RecordChange.create());

        plugin.backlog(connector.settings).invokeAll(records);
    }

    /**
     * Ids of the connector's capture services that run now. Ignite ends them with their node, and when the cluster is
     * deactivated.
     */
    Set<String> services(String name) {
        return NodeJob.everywhere(ctx, node -> {
                    CaptureService service = node.serviceOrNull(name);

                    return service == null ? null : service.id();
                })
                .stream()
                .filter(Objects::nonNull)
                .collect(Collectors.toSet());
    }

    /** Those of {@code services} that registered the cache's capture. */
    static Set<String> alive(Connector connector, String cache, Set<String> services) {
        Set<String> alive = new HashSet<>(connector.registered(cache));

        alive.retainAll(services);

        return alive;
    }

    /** The services that registered some capture of the connector and are no more; for ever. */
    HashSet<String> dead(String name) {
        Connector before = plugin.registry().find(name);
        HashSet<String> dead = new HashSet<>();

        if (before == null) return dead;

        before.caches().forEach(cache -> dead.addAll(before.registered(cache)));
        dead.removeAll(
                services(name)); // asked for after the registry was read: who stands there has been running by then

        return dead;
    }

    /** Whether nothing captures the cache's incarnation although something did. */
    static boolean uncaptured(Connector connector, String cache, Set<String> dead) {
        return !connector.registered(cache).isEmpty() && dead.containsAll(connector.registered(cache));
    }

    /**
     * Of a cache that nothing captures: whether a deactivation ended that, which empties caches in memory. Then its
     * registrations have ended, their nodes not; or, where the nodes are others since, a counter went back.
     */
    private boolean emptied(Connector connector, String cache) {
        return !persistent(cache)
                && (connector.registered(cache).stream()
                                .map(CaptureService::node)
                                .anyMatch(id -> ignite.cluster().node(id) != null)
                        || wentBack(connector, cache));
    }

    /**
     * After a restart of the whole cluster: whether this cache is the one of before. In memory it is not; on disk it
     * is, if no counter went back.
     */
    private boolean survived(Connector before, String cache) {
        return persistent(cache) && !wentBack(before, cache);
    }

    private boolean wentBack(Connector before, String cache) {
        Map<Integer, Long> counters = counters(cache);
        Map<Integer, Long> known = known(before, cache, counters.keySet());

        return known.entrySet().stream().anyMatch(unit -> counters.get(unit.getKey()) < unit.getValue());
    }

    private boolean persistent(String cache) {
        return ctx.cache().cacheDescriptor(cache).groupDescriptor().persistenceEnabled();
    }

    /**
     * Marks the units whose counter ran on while nothing was captured; one that only skipped a number is marked too.
     *
     * @param complete As {@link #complete} told before the capture began again: what it captures since may be above
     *     what was missed.
     */
    void markMissed(Connector connector, String cache, Map<Integer, Long> complete) {
        SortedMap<BacklogKey, RecordChange> marks = new TreeMap<>();

        counters(cache).forEach((partition, counter) -> {
            if (counter > complete.getOrDefault(partition, 0L))
                marks.put(unit(connector, cache, partition).record(), RecordChange.mark(UnitRecord.MISSED));
        });

        new BacklogWriter(plugin, connector.settings).change(marks);
    }

    /** The partitions' update counters, from their primary nodes. */
    private Map<Integer, Long> counters(String cache) {
        Map<Integer, Long> all = new HashMap<>();

        NodeJob.everywhere(ctx, node -> localCounters(node.context(), cache)).forEach(all::putAll);

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
     * The number of each unit up to which none is missing, as far as its last numbers tell: where owners die together,
     * one that is captured but not yet written may be below others that are.
     */
    Map<Integer, Long> complete(Connector connector, String cache) {
        IgniteCache<BacklogKey, byte[]> backlog = plugin.backlog(connector.settings);
        Map<Integer, Long> complete = new HashMap<>();

        for (int partition = 0; partition < partitions(cache); partition++) {
            Unit unit = unit(connector, cache, partition);
            byte[] bytes = backlog.get(unit.record());

            if (bytes != null) complete.put(partition, complete(backlog, unit, UnitRecord.decode(bytes)));
        }

        return complete;
    }

    private static long complete(IgniteCache<BacklogKey, byte[]> backlog, Unit unit, UnitRecord record) {
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

    /** The highest number of each unit that stands in the backlog or was sent; 0 for none. */
    private Map<Integer, Long> known(Connector connector, String cache, Collection<Integer> partitions) {
        IgniteCache<BacklogKey, byte[]> backlog = plugin.backlog(connector.settings);
        Map<Integer, Long> known = new HashMap<>();

        for (int partition : partitions) {
            Unit unit = unit(connector, cache, partition);
            byte[] bytes = backlog.get(unit.record());
            long highest = 0;

            if (bytes != null) {
                UnitRecord record = UnitRecord.decode(bytes);
                byte[] chunk = record.high < 0 ? null : backlog.get(unit.chunk(record.high));

                highest = Math.max(0, Math.max(record.sent.last(), chunk == null ? 0 : Chunk.lastNumber(chunk)));
            }

            known.put(partition, highest);
        }

        return known;
    }

    /** The unit of a partition in the cache's present incarnation. */
    Unit unit(Connector connector, String cache, int partition) {
        return new Unit(CU.cacheId(cache), partition, connector.incarnation(cache));
    }

    /** Cache id to present incarnation, of the captured caches that are there. */
    HashMap<Integer, Long> incarnations(Connector connector) {
        HashMap<Integer, Long> incarnations = new HashMap<>();

        for (String cache : connector.caches()) {
            DynamicCacheDescriptor descriptor = ctx.cache().cacheDescriptor(cache);

            if (descriptor != null) incarnations.put(descriptor.cacheId(), connector.incarnation(cache));
        }

        return incarnations;
    }

    int partitions(String cache) {
        return ignite.affinity(cache).partitions();
    }

    /** Deployment id of the cache that has that name now, or null. */
    static String deployment(GridKernalContext ctx, String cache) {
        DynamicCacheDescriptor descriptor = ctx.cache().cacheDescriptor(cache);

        return descriptor == null ? null : String.valueOf(descriptor.deploymentId());
    }
}
