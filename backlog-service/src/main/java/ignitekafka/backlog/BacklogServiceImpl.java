package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.MALFORMED;
import static ignitekafka.backlog.BacklogException.Code.UNKNOWN_CACHE;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.util.typedef.internal.CU;
import org.apache.ignite.resources.IgniteInstanceResource;

/**
 * The control service, deployed on each node with the jar. It checks calls and delegates them. It holds no state: state
 * is in the {@link ConnectorRegistry} and in caches.
 */
public final class BacklogServiceImpl extends NodeService implements BacklogService {
    private static final long serialVersionUID = 1;

    @IgniteInstanceResource
    private transient Ignite ignite;

    /** Restores captures after the cluster was activated. */
    @Override
    void run() {
        lifecycle().restore();
    }

    @Override
    public int version() {
        return CONTRACT;
    }

    @Override
    public Map<String, Object> start(String connector, Map<String, String> settings, String[] caches, String secret) {
        if (settings == null) throw new BacklogException(MALFORMED, "settings are missing");

        return lifecycle().start(new ConnectorSettings(connector, settings), caches, secret);
    }

    @Override
    public Map<String, Object> update(String connector, String[] caches, String secret) {
        return lifecycle().update(writable(connector, secret), caches);
    }

    @Override
    public String[] connectors() {
        return plugin().registry().names().toArray(new String[0]);
    }

    @Override
    public Map<String, Object> status(String connector) {
        Connector known = known(connector);

        return guard().asNode(() -> new CaptureStatus(plugin(), known).details());
    }

    @Override
    public byte[] units(String connector) {
        HashMap<Integer, Long> incarnations = new CacheIncarnations(plugin()).byCacheId(known(connector));

        return guard().asNode(() -> UnitTable.join(
                UnitTable.MAGIC,
                NodeJob.broadcast(context(), node -> UnitTable.ofNode(node, connector, incarnations))));
    }

    @Override
    public byte[] ends(String connector) {
        Connector known = known(connector);
        HashMap<Integer, Integer> partitions = UnitEnds.partitions(context(), known);
        HashMap<Integer, Long> incarnations = new CacheIncarnations(plugin()).byCacheId(known);

        incarnations.keySet().retainAll(partitions.keySet());

        return guard().asNode(() -> UnitTable.join(
                UnitEnds.MAGIC,
                NodeJob.broadcast(context(), node -> UnitEnds.ofNode(node, connector, incarnations, partitions))));
    }

    @Override
    public byte[] changed(String connector, byte[] position) {
        known(connector);
        Limits.requireSize(position);

        return guard().asNode(
                        () -> ChangedUnits.since(context(), connector, position).encode(plugin()));
    }

    @Override
    public byte[] read(String connector, byte[] units, int maxBytes) {
        Connector known = known(connector);
        List<Unit> wanted = new ArrayList<>();

        if (maxBytes <= 0) throw new BacklogException(MALFORMED, "maxBytes is " + maxBytes + "; it must be above 0");

        Limits.parse(units, in -> wanted.add(Unit.read(in)));
        guard().requireRead(cachesOf(known, wanted));

        return guard().asNode(
                        () -> new BacklogReader(plugin(), known).read(wanted, Math.min(maxBytes, Limits.bytes())));
    }

    /** Returns those of the connector's caches that some of the units belong to. */
    private static Set<String> cachesOf(Connector connector, Collection<Unit> units) {
        Set<Integer> ids = units.stream().map(unit -> unit.cacheId).collect(Collectors.toSet());

        return connector.caches().stream()
                .filter(cache -> ids.contains(CU.cacheId(cache)))
                .collect(Collectors.toSet());
    }

    @Override
    public void acknowledge(String connector, byte[] sent, String secret) {
        Connector known = writable(connector, secret);
        List<Acknowledgement> all = new ArrayList<>();

        Limits.parse(sent, in -> all.add(Acknowledgement.read(in)));
        guard().runAsNode(() -> new BacklogTrimmer(plugin().backlog(known.settings)).acknowledge(all));
    }

    @Override
    public byte[] lookup(String connector, String cache, byte[] keys) {
        List<byte[]> wanted = keys(connector, cache, keys);

        return guard().asNode(() -> Lookup.values(context(), cache, wanted));
    }

    @Override
    public byte[] locate(String connector, String cache, byte[] keys) {
        List<byte[]> wanted = keys(connector, cache, keys);

        return guard().asNode(() -> Lookup.locations(context(), cache, wanted));
    }

    private List<byte[]> keys(String connector, String cache, byte[] keys) {
        Connector known = known(connector);

        if (cache == null || !known.caches().contains(cache) || CacheIncarnations.deployment(context(), cache) == null)
            throw new BacklogException(UNKNOWN_CACHE, "connector '" + connector + "' has no cache '" + cache + '\'');

        guard().requireRead(Collections.singleton(cache));

        return Lookup.keys(keys);
    }

    @Override
    public void barrier(String connector) {
        Connector captured = known(connector);

        guard().runAsNode(() -> Barrier.await(context(), captured));
    }

    @Override
    public void clear(String connector, byte[] units, String secret) {
        new UnitMarks(plugin(), writable(connector, secret)).clear(units);
    }

    @Override
    public void mark(String connector, byte[] units, String secret) {
        new UnitMarks(plugin(), writable(connector, secret)).mark(units);
    }

    @Override
    public String[] caches() {
        return CaptureStatus.userCaches(context());
    }

    @Override
    public Map<String, Object> stop(String connector, boolean destroy, String secret) {
        Connector known = plugin().registry().find(connector);

        if (known != null) Guard.requireSecret(known, secret);

        return lifecycle().end(known, destroy);
    }

    @Override
    public Map<String, Object> forceStop(String connector, boolean destroy) {
        Connector known = plugin().registry().find(connector);

        guard().requireAdministrator(connector);

        if (known != null)
            plugin().log()
                    .warning("The capture of connector '" + connector + "' is ended without its secret by "
                            + guard().caller());

        return lifecycle().end(known, destroy);
    }

    @Override
    public void raise(String sink, byte[] writer, String[] caches) {
        ByteBuffer in = Chunk.buffer(Limits.requireSize(writer));

        if (in.remaining() < WriterToken.BYTES)
            throw new BacklogException(MALFORMED, "a token has " + WriterToken.BYTES + " bytes, not " + in.remaining());

        WriterToken token = WriterToken.read(in);
        int[] slots = FencedRequest.slots(in);

        guard().requireWrite(some(sink, caches));
        guard().runAsNode(() -> plugin().fences().raise(sink, slots, token));
    }

    @Override
    public int generation(String sink) {
        SinkFences.requireName(sink);

        return guard().asNode(() -> plugin().fences().of(sink).generation);
    }

    @Override
    public void write(String sink, byte[] writer, String cache, boolean insert, byte[] entries) {
        execute(new FencedRequest(sink, writer, cache, insert), sink, cache, entries);
    }

    @Override
    public void writeGreatest(String sink, byte[] writer, String cache, String field, byte[] entries) {
        execute(new FencedRequest(sink, writer, cache, field), sink, cache, entries);
    }

    private void execute(FencedRequest request, String sink, String cache, byte[] entries) {
        guard().requireWrite(some(sink, new String[] {cache}));
        guard().runAsNode(() -> request.execute(plugin(), entries));
    }

    @Override
    public Map<String, Object> activeActive(String cache) {
        requireCache(cache);

        return guard().asNode(() -> SharedCacheStatus.of(plugin(), cache));
    }

    @Override
    public String[] activeActiveCaches() {
        return plugin().activeActive().caches.toArray(new String[0]);
    }

    @Override
    public byte[] entries(String cache, byte[] keys) {
        requireCache(cache);

        List<byte[]> wanted = Lookup.keys(keys);

        return guard().asNode(() -> Lookup.entries(context(), cache, wanted));
    }

    private void requireCache(String cache) {
        if (cache == null || CacheIncarnations.deployment(context(), cache) == null)
            throw new BacklogException(UNKNOWN_CACHE, "there is no cache '" + cache + '\'');

        guard().requireRead(Collections.singleton(cache));
    }

    @Override
    public void forget(String sink, String[] caches) {
        guard().requireWrite(some(sink, caches));
        guard().runAsNode(() -> plugin().fences().remove(sink));
    }

    private static List<String> some(String sink, String[] caches) {
        if (caches == null || caches.length == 0 || Arrays.asList(caches).contains(null))
            throw new BacklogException(MALFORMED, "sink '" + sink + "' names no cache that it writes");

        return Arrays.asList(caches);
    }

    // Thin clients find only methods of this class, so these cannot be default methods of the interface.

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
        clear(connector, units, null);
    }

    @Override
    public void mark(String connector, byte[] units) {
        mark(connector, units, null);
    }

    @Override
    public Map<String, Object> stop(String connector, boolean destroy) {
        return stop(connector, destroy, null);
    }

    private Connector known(String connector) {
        return plugin().registry().get(connector);
    }

    /** Returns the connector if the secret allows to change its capture. */
    private Connector writable(String connector, String secret) {
        Connector known = known(connector);

        Guard.requireSecret(known, secret);

        return known;
    }

    private CaptureLifecycle lifecycle() {
        return new CaptureLifecycle(plugin());
    }

    private Guard guard() {
        return new Guard(context());
    }

    private BacklogPlugin plugin() {
        return BacklogPlugin.of(context());
    }

    private GridKernalContext context() {
        return ((IgniteEx) ignite).context();
    }
}
