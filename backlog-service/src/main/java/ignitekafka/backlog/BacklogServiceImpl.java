package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.MALFORMED;
import static ignitekafka.backlog.BacklogException.Code.MISSING_JAR;
import static ignitekafka.backlog.BacklogException.Code.MISSING_REGION;
import static ignitekafka.backlog.BacklogException.Code.OTHER_OWNER;
import static ignitekafka.backlog.BacklogException.Code.OTHER_SETTINGS;
import static ignitekafka.backlog.BacklogException.Code.UNKNOWN_CACHE;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;
import org.apache.ignite.resources.IgniteInstanceResource;
import org.apache.ignite.services.Service;

/** The control service, on each node with the jar: checks calls, and hands them on. It holds no state; that is in registry and caches. */
public final class BacklogServiceImpl implements BacklogService, Service {
    private static final long serialVersionUID = 1;

    @IgniteInstanceResource
    private transient Ignite ignite;

    /** After an activation, brings back what was captured before: services are not kept over a restart of the whole cluster. */
    @Override public void execute() {
        ClusterNode oldest = ignite.cluster().forServers().forPredicate(BacklogPluginProvider.nodes()).forOldest().node();

        if (oldest == null || !oldest.isLocal())
            return;

        for (String connector : plugin().registry().names()) {
            try {
                captures().ensure(connector);
            }
            catch (RuntimeException e) {
                plugin().log().error("The capture of connector '" + connector + "' could not be brought back, start it again", e);
            }
        }
    }

    @Override public Map<String, Object> start(String connector, Map<String, String> settings, String[] caches) {
        if (settings == null)
            throw new BacklogException(MALFORMED, "settings are missing");

        ConnectorSettings wanted = new ConnectorSettings(connector, settings);

        checkCaches(wanted, caches);
        checkNodes(wanted);

        Connector added = plugin().registry().add(Connector.first(wanted));

        if (!added.settings.owner.equals(wanted.owner))
            throw new BacklogException(OTHER_OWNER, "connector '" + connector + "' captures for '" + added.settings.owner + "', not for '" +
                wanted.owner + '\'');

        if (!added.settings.asMap().equals(wanted.asMap()))
            throw new BacklogException(OTHER_SETTINGS, "connector '" + connector + "' captures with " + added.settings.asMap() +
                ", and is started with " + wanted.asMap());

        return update(connector, caches);
    }

    @Override public Map<String, Object> update(String connector, String[] caches) {
        Connector before = plugin().registry().get(connector);

        checkCaches(before.settings, caches);
        plugin().registry().update(connector, present -> present.withCaches(Arrays.asList(caches)));

        Connector after = captures().ensure(connector);

        captures().flush(connector);

        for (String cache : before.caches()) {
            if (!after.caches().contains(cache))
                captures().forget(before, cache);
        }

        return describe(after);
    }

    @Override public String[] connectors() {
        return plugin().registry().names().toArray(new String[0]);
    }

    @Override public Map<String, Object> status(String connector) {
        Connector known = plugin().registry().get(connector);
        Map<String, Object> status = describe(known);

        status.put("owner", known.settings.owner);
        status.put("caches", known.caches().toArray(new String[0]));
        status.put("nodes", NodeJob.everywhere(context(), node -> nodeLine(node, connector)).stream().filter(Objects::nonNull)
            .sorted().toArray(String[]::new));
        status.put("servers", plugin().servers().stream().map(UUID::toString).toArray(String[]::new));

        return status;
    }

    private static String nodeLine(BacklogPlugin node, String connector) {
        NodeCapture capture = node.captureOrNull(connector);

        return capture == null ? null : String.format(Locale.ROOT, "%s entries=%d bytes=%d written=%d fill=%.3f",
            node.context().discovery().localNode().consistentId(), capture.bufferedEntries(), capture.bufferedBytes(),
            capture.writtenEntries(), capture.fill());
    }

    private Map<String, Object> describe(Connector connector) {
        Map<String, Object> description = new LinkedHashMap<>();
        Set<String> services = captures().services(connector.settings.connector);
        Set<String> registered = null;

        for (String cache : connector.caches()) {
            Set<String> alive = Captures.alive(connector, cache, services);

            if (registered == null)
                registered = new HashSet<>(alive);

            registered.retainAll(alive);

            if (Captures.deployment(context(), cache) != null) {
                description.put("incarnation." + cache, connector.incarnation(cache));
                description.put("partitions." + cache, captures().partitions(cache));
            }
        }

        description.put("captureId", connector.captureId());
        description.put("registered", registered == null ? 0 : registered.size());

        return description;
    }

    @Override public byte[] units(String connector) {
        HashMap<Integer, Long> incarnations = captures().incarnations(plugin().registry().get(connector));

        return UnitTable.join(NodeJob.everywhere(context(), node -> UnitTable.ofNode(node, connector, incarnations)));
    }

    @Override public byte[] changed(String connector, byte[] place) {
        plugin().registry().get(connector);

        if (place == null)
            throw new BacklogException(MALFORMED, "bytes are missing");

        return ChangedUnits.since(context(), connector, place).encode(plugin());
    }

    @Override public byte[] read(String connector, byte[] units, int maxBytes) {
        Connector known = plugin().registry().get(connector);
        List<Unit> wanted = new ArrayList<>();

        if (maxBytes <= 0)
            throw new BacklogException(MALFORMED, "maxBytes is " + maxBytes + ", a number above 0 is wanted");

        parse(units, in -> wanted.add(Unit.read(in)));

        return new BacklogReader(plugin(), known).read(wanted, maxBytes);
    }

    @Override public void acknowledge(String connector, byte[] sent) {
        BacklogReader reader = new BacklogReader(plugin(), plugin().registry().get(connector));
        List<Acknowledgement> all = new ArrayList<>();

        parse(sent, in -> all.add(Acknowledgement.read(in)));
        reader.acknowledge(all);
    }

    @Override public byte[] lookup(String connector, String cache, byte[] keys) {
        return Lookup.values(context(), cache, keys(connector, cache, keys));
    }

    @Override public byte[] locate(String connector, String cache, byte[] keys) {
        return Lookup.places(context(), cache, keys(connector, cache, keys));
    }

    private List<byte[]> keys(String connector, String cache, byte[] keys) {
        Connector known = plugin().registry().get(connector);
        List<byte[]> wanted = new ArrayList<>();

        if (cache == null || !known.caches().contains(cache) || Captures.deployment(context(), cache) == null)
            throw new BacklogException(UNKNOWN_CACHE, "connector '" + connector + "' has no cache '" + cache + '\'');

        parse(keys, in -> {
            int length = in.getInt();

            if (length < 0 || length > in.remaining())
                throw new BacklogException(MALFORMED, "a key of " + length + " bytes, with " + in.remaining() + " left");

            byte[] key = new byte[length];

            in.get(key);
            wanted.add(key);
        });

        return wanted;
    }

    @Override public void barrier(String connector) {
        plugin().registry().get(connector);
        captures().flush(connector);
    }

    @Override public void clear(String connector, byte[] units) {
        ConnectorSettings settings = plugin().registry().get(connector).settings;
        Map<Unit, Long> markNumbers = new LinkedHashMap<>();

        parse(units, in -> markNumbers.put(Unit.read(in), in.getLong()));

        NodeJob.everywhere(context(), node -> {
            NodeCapture capture = node.captureOrNull(connector);

            if (capture != null)
                parse(units, in -> {
                    capture.resume(Unit.read(in));
                    in.getLong();
                });

            return null;
        });

        BacklogWriter writer = new BacklogWriter(plugin(), settings);

        markNumbers.forEach((unit, number) -> {
            writer.empty(unit);
            plugin().backlog(settings).invoke(unit.record(), RecordChange.clear(number));
        });
    }

    @Override public void mark(String connector, byte[] units) {
        Connector known = plugin().registry().get(connector);
        Map<Integer, String> names = new HashMap<>();
        SortedMap<BacklogKey, RecordChange> marks = new TreeMap<>();

        known.caches().stream().filter(cache -> Captures.deployment(context(), cache) != null)
            .forEach(cache -> names.put(context().cache().cacheDescriptor(cache).cacheId(), cache));

        parse(units, in -> {
            Unit unit = Unit.read(in);
            String cache = names.get(unit.cacheId);

            if (cache == null || known.incarnation(cache) != unit.incarnation)
                throw new BacklogException(UNKNOWN_CACHE, "connector '" + connector + "' does not capture the cache of " + unit);

            if (unit.partition < 0 || unit.partition >= captures().partitions(cache))
                throw new BacklogException(MALFORMED, "cache '" + cache + "' has no partition " + unit.partition);

            marks.put(unit.record(), RecordChange.mark(UnitRecord.ASKED));
        });

        new BacklogWriter(plugin(), known.settings).change(marks);
    }

    @Override public String[] caches() {
        return context().cache().cacheDescriptors().values().stream()
            .filter(cache -> cache.cacheType().userCache())
            .map(BacklogServiceImpl::line)
            .sorted()
            .toArray(String[]::new);
    }

    private static String line(DynamicCacheDescriptor cache) {
        int partitions = cache.cacheConfiguration().getAffinity() == null ? 0 : cache.cacheConfiguration().getAffinity().partitions();
        Object started = cache.startTopologyVersion() == null ? 0 : cache.startTopologyVersion().topologyVersion();

        return Stream.of(cache.cacheName(), cache.cacheId(), cache.deploymentId(), started, partitions, cache.groupDescriptor().cacheOrGroupName())
            .map(String::valueOf).collect(Collectors.joining("\t"));
    }

    @Override public Map<String, Object> stop(String connector, boolean destroy) {
        Map<String, Object> removed = new HashMap<>();
        Connector known = plugin().registry().find(connector);

        removed.put("service", null);
        removed.put("cache", null);

        if (known == null)
            return removed;

        ignite.services().cancel(known.settings.serviceName);
        removed.put("service", known.settings.serviceName);
        NodeJob.everywhere(context(), node -> {
            node.drop(connector);

            return null;
        });

        if (destroy && context().cache().cacheDescriptor(known.settings.cacheName) != null) {
            ignite.destroyCache(known.settings.cacheName);
            removed.put("cache", known.settings.cacheName);
        }

        plugin().registry().remove(connector);

        return removed;
    }

    private void checkCaches(ConnectorSettings settings, String[] caches) {
        if (caches == null || Arrays.asList(caches).contains(null))
            throw new BacklogException(MALFORMED, "caches are missing");

        for (String cache : caches) {
            if (cache.equals(settings.cacheName))
                throw new BacklogException(MALFORMED, "the backlog cache '" + cache + "' cannot be captured");

            if (Captures.deployment(context(), cache) == null)
                throw new BacklogException(UNKNOWN_CACHE, "there is no cache '" + cache + '\'');
        }
    }

    private void checkNodes(ConnectorSettings settings) {
        Collection<ClusterNode> without = ignite.cluster().forServers().forPredicate(node -> !BacklogPluginProvider.nodes().apply(node)).nodes();

        if (!without.isEmpty())
            throw new BacklogException(MISSING_JAR, "the jar of the backlog service (version " + VERSION + ") is not on the class path of " +
                without.stream().map(node -> String.valueOf(node.consistentId())).collect(Collectors.toList()));

        String region = settings.regionName;
        List<String> lacking = NodeJob.everywhere(context(), node -> hasRegion(node, region) ? null
            : String.valueOf(node.context().discovery().localNode().consistentId())).stream().filter(Objects::nonNull).collect(Collectors.toList());

        if (!lacking.isEmpty())
            throw new BacklogException(MISSING_REGION, "memory region '" + region + "' (" + ConnectorSettings.REGION_NAME +
                ") is not in the DataStorageConfiguration of " + lacking);
    }

    private static boolean hasRegion(BacklogPlugin node, String region) {
        try {
            return node.context().cache().context().database().dataRegion(region) != null;
        }
        catch (IgniteCheckedException e) {
            return false;
        }
    }

    private static void parse(byte[] bytes, Layout layout) {
        if (bytes == null)
            throw new BacklogException(MALFORMED, "bytes are missing");

        ByteBuffer in = Chunk.buffer(bytes);

        try {
            while (in.hasRemaining())
                layout.readOne(in);
        }
        catch (BufferUnderflowException e) {
            throw new BacklogException(MALFORMED, "bytes end in the midst of an element: " + bytes.length, e);
        }
    }

    private Captures captures() {
        return new Captures(plugin());
    }

    private BacklogPlugin plugin() {
        return BacklogPlugin.of(context());
    }

    private GridKernalContext context() {
        return ((IgniteEx)ignite).context();
    }

    /** Reads one element of an argument. */
    private interface Layout {
        void readOne(ByteBuffer in);
    }
}
