package ignitekafka.backlog;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.util.typedef.internal.CU;

/**
 * Finds what each unit has left to send on its primary node, for {@link BacklogService#ends}: from its record and its
 * first and last chunk, where {@link UnitTable} reads all of them.
 */
final class UnitEnds {
    static final int MAGIC = 0x31454B42;

    private final IgniteCache<BacklogKey, byte[]> backlog;

    private UnitEnds(IgniteCache<BacklogKey, byte[]> backlog) {
        this.backlog = backlog;
    }

    /** The units for which this node is primary, in the columns of the answer. */
    static ArrayList<long[]> ofNode(
            BacklogPlugin node,
            String connector,
            HashMap<Integer, Long> incarnations,
            HashMap<Integer, Integer> counts) {
        UnitEnds ends = new UnitEnds(node.backlog(node.registry().get(connector).settings));
        ArrayList<long[]> rows = new ArrayList<>();

        for (Map.Entry<Integer, Long> cache : incarnations.entrySet()) {
            if (cache.getValue() == 0) continue;

            for (int partition = 0; partition < counts.get(cache.getKey()); partition++) {
                long[] row = ends.row(new Unit(cache.getKey(), partition, cache.getValue()));

                if (row != null) rows.add(row);
            }
        }

        return rows;
    }

    /** Partitions by cache id, of the connector's caches that exist. */
    static HashMap<Integer, Integer> partitions(GridKernalContext ctx, Connector connector) {
        HashMap<Integer, Integer> counts = new HashMap<>();

        for (String cache : connector.caches()) {
            if (CacheIncarnations.deployment(ctx, cache) != null)
                counts.put(CU.cacheId(cache), CacheIncarnations.partitions(ctx, cache));
        }

        return counts;
    }

    /** Null for a unit without changes and marks, and for one whose primary is another node. */
    private long[] row(Unit unit) {
        byte[] bytes = peek(unit.record());

        if (bytes == null) return null;

        UnitRecord record = UnitRecord.decode(bytes);
        long[] row = {unit.incarnation, -1, -1, 0, 0, record.markNumber, unit.cacheId, unit.partition, record.marks};

        addExpired(unit, row);
        addChunks(unit, record, row);

        return row[3] == 0 && record.marks == 0 ? null : row;
    }

    private void addExpired(Unit unit, long[] row) {
        byte[] expired = peek(unit.expired());

        if (expired == null) return;

        for (long[] stampAndTime : ExpiredKeys.decode(expired).values()) {
            row[3]++;
            row[4] = earlier(row[4], stampAndTime[1]);
        }
    }

    private void addChunks(Unit unit, UnitRecord record, long[] row) {
        byte[] first = null;
        byte[] last = null;

        for (long index = record.low; first == null && index <= record.high; index++) first = peek(unit.chunk(index));

        if (first == null) return;

        for (long index = record.high; last == null && index >= record.low; index--) last = peek(unit.chunk(index));

        List<Change> changes = Chunk.decode(first);

        row[1] = changes.get(0).number;
        row[2] = Math.max(changes.get(changes.size() - 1).number, last == null ? -1 : Chunk.lastNumber(last));
        row[3] += Math.max(1, row[2] - row[1] + 1 - record.sent.within(row[1], row[2]));

        for (Change change : changes) row[4] = earlier(row[4], change.timeMs);
    }

    private static long earlier(long timeMs, long otherMs) {
        return timeMs == 0 ? otherMs : Math.min(timeMs, otherMs);
    }

    private byte[] peek(BacklogKey key) {
        return backlog.localPeek(key, CachePeekMode.PRIMARY);
    }
}
