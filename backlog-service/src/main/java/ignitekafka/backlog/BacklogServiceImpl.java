package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.FOREIGN_CACHE;
import static ignitekafka.backlog.BacklogException.Code.MALFORMED;
import static ignitekafka.backlog.BacklogException.Code.UNKNOWN_CACHE;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.util.typedef.internal.CU;
import org.apache.ignite.resources.IgniteInstanceResource;
import org.apache.ignite.services.Service;

/**
 * The control service, on each node with the jar: checks calls, and hands them on. It holds no state; that is in
 * registry and caches.
 */
public final class BacklogServiceImpl implements BacklogService, Service {
    private static final long serialVersionUID = 1;

    @IgniteInstanceResource
    private transient Ignite ignite;

    /**
     * After an activation, brings back what was captured before: services are not kept over a restart of the whole
     * cluster.
     */
    @Override
    public void execute() {
        ClusterNode oldest = ignite.cluster()
                .forServers()
                .forPredicate(BacklogPluginProvider.nodes())
                .forOldest()
                .node();

        if (oldest == null || !oldest.isLocal()) return;

        for (String connector : plugin().registry().names()) {
            try {
                captures().ensure(connector);
            } catch (RuntimeException e) {
                plugin().log()
                        .error(
                                "The capture of connector '" + connector
                                        + "' could not be brought back, start it again",
                                e);
            }
        }
    }

    @Override
    public int version() {
        return CONTRACT;
    }

    @Override
    public Map<String, Object> start(String connector, Map<String, String> settings, String[] caches, String secret) {
        if (settings == null) throw new BacklogException(MALFORMED, "settings are missing");

        ConnectorSettings wanted = new ConnectorSettings(connector, settings);
        String digest = secret == null ? null : Guard.digest(secret);
        Connector present = plugin().registry().find(connector);

        if (present != null) mayStart(present, wanted, secret);

        mayCapture(wanted, caches);

        return guard().asNode(() -> {
            new StartChecks(plugin()).capture(wanted);

            Connector first = Connector.first(wanted);
            Connector added = plugin().registry().add(digest == null ? first : first.withSecret(digest));

            mayStart(added, wanted, secret); // another call may have been faster

            if (digest != null && added.secretDigest() == null) takeSecret(connector, digest, secret);

            return begin(connector, caches);
        });
    }

    private static void mayStart(Connector present, ConnectorSettings wanted, String secret) {
        StartChecks.same(present, wanted);
        Guard.mayWrite(present, secret);
    }

    /** A capture that began without a secret, under version 0.1.0 say, has one from now on. */
    private void takeSecret(String connector, String digest, String secret) {
        plugin().registry().update(connector, present -> {
            Guard.mayWrite(present, secret);

            return present.withSecret(digest);
        });
    }

    private void mayCapture(ConnectorSettings settings, String[] caches) {
        new StartChecks(plugin()).caches(settings, caches);
        guard().mayRead(Arrays.asList(caches));
    }

    /** Takes a registration back that never came to a cache of its own. */
    private Map<String, Object> begin(String connector, String[] caches) {
        try {
            return capture(connector, caches);
        } catch (BacklogException e) {
            Connector present = plugin().registry().find(connector);

            if (e.code() == FOREIGN_CACHE && present != null && !present.begun())
                plugin().registry().remove(connector);

            throw e;
        }
    }

    @Override
    public Map<String, Object> update(String connector, String[] caches, String secret) {
        Connector present = plugin().registry().get(connector);

        Guard.mayWrite(present, secret);
        mayCapture(present.settings, caches);

        return guard().asNode(() -> capture(connector, caches));
    }

    private Map<String, Object> capture(String connector, String[] caches) {
        Connector before = plugin().registry().get(connector);

        plugin().registry().update(connector, present -> present.withCaches(Arrays.asList(caches)));

        Connector after = captures().ensure(connector);

        captures().flush(connector);

        for (String cache : before.caches()) {
            if (!after.caches().contains(cache)) captures().forget(before, cache);
        }

        return new CaptureStatus(plugin(), after).brief();
    }

    @Override
    public String[] connectors() {
        return plugin().registry().names().toArray(new String[0]);
    }

    @Override
    public Map<String, Object> status(String connector) {
        Connector known = plugin().registry().get(connector);

        return guard().asNode(() -> new CaptureStatus(plugin(), known).whole());
    }

    @Override
    public byte[] units(String connector) {
        HashMap<Integer, Long> incarnations =
                captures().incarnations(plugin().registry().get(connector));

        return guard().asNode(() ->
                UnitTable.join(NodeJob.everywhere(context(), node -> UnitTable.ofNode(node, connector, incarnations))));
    }

    @Override
    public byte[] changed(String connector, byte[] place) {
        plugin().registry().get(connector);

        Limits.checked(place);

        return guard().asNode(
                        () -> ChangedUnits.since(context(), connector, place).encode(plugin()));
    }

    @Override
    public byte[] read(String connector, byte[] units, int maxBytes) {
        Connector known = plugin().registry().get(connector);
        List<Unit> wanted = new ArrayList<>();

        if (maxBytes <= 0)
            throw new BacklogException(MALFORMED, "maxBytes is " + maxBytes + ", a number above 0 is wanted");

        Limits.parse(units, in -> wanted.add(Unit.read(in)));
        guard().mayRead(names(known, wanted));

        return guard().asNode(
                        () -> new BacklogReader(plugin(), known).read(wanted, Math.min(maxBytes, Limits.bytes())));
    }

    /** The connector's caches that some of the units are of. */
    private static Set<String> names(Connector connector, Collection<Unit> units) {
        Set<Integer> ids = units.stream().map(unit -> unit.cacheId).collect(Collectors.toSet());

        return connector.caches().stream()
                .filter(cache -> ids.contains(CU.cacheId(cache)))
                .collect(Collectors.toSet());
    }

    @Override
    public void acknowledge(String connector, byte[] sent, String secret) {
        Connector known = plugin().registry().get(connector);
        List<Acknowledgement> all = new ArrayList<>();

        Guard.mayWrite(known, secret);
        Limits.parse(sent, in -> all.add(Acknowledgement.read(in)));
        run(() -> new BacklogReader(plugin(), known).acknowledge(all));
    }

    private void run(Runnable work) {
        guard().asNode(() -> {
            work.run();

            return null;
        });
    }

    @Override
    public byte[] lookup(String connector, String cache, byte[] keys) {
        List<byte[]> wanted = keys(connector, cache, keys);

        return guard().asNode(() -> Lookup.values(context(), cache, wanted));
    }

    @Override
    public byte[] locate(String connector, String cache, byte[] keys) {
        List<byte[]> wanted = keys(connector, cache, keys);

        return guard().asNode(() -> Lookup.places(context(), cache, wanted));
    }

    private List<byte[]> keys(String connector, String cache, byte[] keys) {
        Connector known = plugin().registry().get(connector);

        if (cache == null || !known.caches().contains(cache) || Captures.deployment(context(), cache) == null)
            throw new BacklogException(UNKNOWN_CACHE, "connector '" + connector + "' has no cache '" + cache + '\'');

        guard().mayRead(Set.of(cache));

        return Lookup.keys(keys);
    }

    @Override
    public void barrier(String connector) {
        plugin().registry().get(connector);
        run(() -> captures().flush(connector));
    }

    @Override
    public void clear(String connector, byte[] units, String secret) {
        Connector known = plugin().registry().get(connector);
        Map<Unit, Long> markNumbers = new LinkedHashMap<>();

        Guard.mayWrite(known, secret);
        Limits.parse(units, in -> markNumbers.put(Unit.read(in), in.getLong()));
        run(() -> clear(known.settings, units, markNumbers));
    }

    private void clear(ConnectorSettings settings, byte[] units, Map<Unit, Long> markNumbers) {
        String connector = settings.connector;

        NodeJob.everywhere(context(), node -> {
            NodeCapture capture = node.captureOrNull(connector);

            if (capture != null)
                Limits.parse(units, in -> {
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

    @Override
    public void mark(String connector, byte[] units, String secret) {
        Connector known = plugin().registry().get(connector);
        Map<Integer, String> names = new HashMap<>();
        SortedMap<BacklogKey, RecordChange> marks = new TreeMap<>();

        Guard.mayWrite(known, secret);
        known.caches().stream()
                .filter(cache -> Captures.deployment(context(), cache) != null)
                .forEach(cache ->
                        names.put(context().cache().cacheDescriptor(cache).cacheId(), cache));

        Limits.parse(units, in -> {
            Unit unit = Unit.read(in);
            String cache = names.get(unit.cacheId);

            if (cache == null || known.incarnation(cache) != unit.incarnation)
                throw new BacklogException(
                        UNKNOWN_CACHE, "connector '" + connector + "' does not capture the cache of " + unit);

            if (unit.partition < 0 || unit.partition >= captures().partitions(cache))
                throw new BacklogException(MALFORMED, "cache '" + cache + "' has no partition " + unit.partition);

            marks.put(unit.record(), RecordChange.mark(UnitRecord.ASKED));
        });

        run(() -> new BacklogWriter(plugin(), known.settings).change(marks));
    }

    @Override
    public String[] caches() {
        return CaptureStatus.userCaches(context());
    }

    @Override
    public Map<String, Object> stop(String connector, boolean destroy, String secret) {
        Connector known = plugin().registry().find(connector);

        if (known != null) Guard.mayWrite(known, secret);

        return guard().asNode(() -> end(connector, known, destroy));
    }

    @Override
    public Map<String, Object> forceStop(String connector, boolean destroy) {
        Connector known = plugin().registry().find(connector);

        guard().mayEnd(connector);

        if (known != null)
            plugin().log()
                    .warning("The capture of connector '" + connector + "' is ended without its secret by "
                            + guard().caller());

        return guard().asNode(() -> end(connector, known, destroy));
    }

    private Map<String, Object> end(String connector, Connector known, boolean destroy) {
        Map<String, Object> removed = new HashMap<>();

        removed.put("service", null);
        removed.put("cache", null);

        if (known == null) return removed;

        if (CaptureServices.mine(context(), known.settings)) {
            ignite.services().cancel(known.settings.serviceName);
            removed.put("service", known.settings.serviceName);
        }

        NodeJob.everywhere(context(), node -> {
            node.drop(connector);

            return null;
        });

        if (destroy && BacklogCache.mine(plugin(), known.settings)) {
            ignite.destroyCache(known.settings.cacheName);
            removed.put("cache", known.settings.cacheName);
        }

        plugin().registry().remove(connector);

        return removed;
    }

    // Thin clients find methods of this class alone, so these are no default methods of the interface.

    @Override
    public Map<String, Object> start(String connector, Map<String, String> settings, String[] caches) {
        return start(connector, settings, caches, null);
    }

    @Override
    public Map<String, Object> update(String connector, String[] caches) {
        return update(connector, caches, null);
    }

    @Override
    public void acknowledge(String connector, byte[] sent) {
        acknowledge(connector, sent, null);
    }

    @Override
    public void clear(String connector, byte[] units) {
        clear(connector, units, (String) null);
    }

    @Override
    public void mark(String connector, byte[] units) {
        mark(connector, units, null);
    }

    @Override
    public Map<String, Object> stop(String connector, boolean destroy) {
        return stop(connector, destroy, null);
    }

    private Guard guard() {
        return new Guard(context());
    }

    private Captures captures() {
        return new Captures(plugin());
    }

    private BacklogPlugin plugin() {
        return BacklogPlugin.of(context());
    }

    private GridKernalContext context() {
        return ((IgniteEx) ignite).context();
    }
}
