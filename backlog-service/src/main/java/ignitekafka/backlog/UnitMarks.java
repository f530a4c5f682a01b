package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.MALFORMED;
import static ignitekafka.backlog.BacklogException.Code.UNKNOWN_CACHE;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.ignite.internal.GridKernalContext;

/** Sets and clears marks of one connector's units, for {@link BacklogServiceImpl}. */
final class UnitMarks {
    private final BacklogPlugin plugin;
    private final GridKernalContext ctx;
    private final Connector connector;

    UnitMarks(BacklogPlugin plugin, Connector connector) {
        this.plugin = plugin;
        this.connector = connector;
        ctx = plugin.context();
    }

    /** Implements {@link BacklogService#mark(String, byte[], String)}. */
    void mark(byte[] units) {
        Map<Integer, String> names = namesById();
        SortedMap<BacklogKey, RecordChange> marks = new TreeMap<>();

        Limits.parse(units, in -> {
            Unit unit = Unit.read(in);

            requireCaptured(unit, names.get(unit.cacheId));
            marks.put(unit.record(), RecordChange.mark(UnitRecord.ASKED));
        });

        new Guard(ctx).runAsNode(() -> new BacklogWriter(plugin, connector.settings).change(marks));
    }

    private Map<Integer, String> namesById() {
        Map<Integer, String> names = new HashMap<>();

        for (String cache : connector.caches()) {
            if (CacheIncarnations.deployment(ctx, cache) != null)
                names.put(ctx.cache().cacheDescriptor(cache).cacheId(), cache);
        }

        return names;
    }

    private void requireCaptured(Unit unit, String cache) {
        if (cache == null || connector.incarnation(cache) != unit.incarnation)
            throw new BacklogException(
                    UNKNOWN_CACHE,
                    "connector '" + connector.settings.connector + "' does not capture the cache of " + unit);

        if (unit.partition < 0 || unit.partition >= CacheIncarnations.partitions(ctx, cache))
            throw new BacklogException(MALFORMED, "cache '" + cache + "' has no partition " + unit.partition);
    }

    /** Implements {@link BacklogService#clear(String, byte[], String)}. */
    void clear(byte[] units) {
        Map<Unit, Long> markNumbers = new LinkedHashMap<>();

        Limits.parse(units, in -> markNumbers.put(Unit.read(in), in.getLong()));

        new Guard(ctx).runAsNode(() -> {
            resume(ctx, connector.settings.connector, units);

            BacklogWriter writer = new BacklogWriter(plugin, connector.settings);

            markNumbers.forEach((unit, number) -> {
                writer.empty(unit);
                plugin.backlog(connector.settings).invoke(unit.record(), RecordChange.clear(number));
            });
        });
    }

    /** Makes every node capture the units again. */
    private static void resume(GridKernalContext ctx, String connector, byte[] units) {
        NodeJob.broadcast(ctx, node -> {
            NodeCapture capture = node.captureOrNull(connector);

            if (capture != null)
                Limits.parse(units, in -> {
                    capture.resume(Unit.read(in));
                    in.getLong();
                });

            return null;
        });
    }
}
