package ignitekafka.backlog;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.cache.Cache;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;

/** Counts the backlog of each unit on its primary node, for {@link BacklogService#units}. */
final class UnitTable {
    static final int MAGIC = 0x31554B42;

    private static final int LONGS = 6;
    private static final int INTS = 3;

    private UnitTable() {
        // Static functions only.
    }

    /** A row for each unit in this node's primary partitions: the int64 columns, then the int32 columns. */
    static ArrayList<long[]> ofNode(BacklogPlugin node, String connector, Map<Integer, Long> incarnations) {
        Map<Unit, long[]> rows = new HashMap<>();
        IgniteCache<BacklogKey, byte[]> backlog = node.backlog(node.registry().get(connector).settings);

        try (QueryCursor<Cache.Entry<BacklogKey, byte[]>> entries =
                backlog.query(new ScanQuery<BacklogKey, byte[]>().setLocal(true))) {
            for (Cache.Entry<BacklogKey, byte[]> entry : entries) {
                Unit unit = entry.getKey().unit();

                if (incarnations.getOrDefault(unit.cacheId, 0L) == unit.incarnation && unit.incarnation != 0)
                    count(
                            rows.computeIfAbsent(unit, UnitTable::row),
                            entry.getKey().part(),
                            entry.getValue());
            }
        }

        ArrayList<long[]> found = new ArrayList<>(rows.values());

        found.removeIf(row -> row[3] == 0 && row[8] == 0);

        return found;
    }

    private static long[] row(Unit unit) {
        return new long[] {unit.incarnation, -1, -1, 0, 0, 0, unit.cacheId, unit.partition, 0};
    }

    private static void count(long[] row, long part, byte[] value) {
        if (part == BacklogKey.RECORD) {
            UnitRecord record = UnitRecord.decode(value);

            row[5] = record.markNumber;
            row[8] = record.marks;
        } else if (part == BacklogKey.EXPIRED)
            row[3] += ExpiredKeys.decode(value).size();
        else {
            List<Change> changes = Chunk.decode(value);
            long low = changes.get(0).number;

            row[1] = row[1] < 0 ? low : Math.min(row[1], low);
            row[2] = Math.max(row[2], changes.get(changes.size() - 1).number);
            row[3] += changes.size();
            row[4] += value.length;
        }
    }

    /** Encodes the rows of all nodes. */
    static byte[] join(int magic, Collection<ArrayList<long[]>> nodes) {
        List<long[]> rows = new ArrayList<>();

        nodes.forEach(rows::addAll);

        ByteBuffer out = Chunk.buffer(new byte[8 + rows.size() * (8 * LONGS + 4 * INTS)])
                .putInt(magic)
                .putInt(rows.size());

        for (int column = 0; column < LONGS; column++) {
            for (long[] row : rows) out.putLong(row[column]);
        }

        for (int column = LONGS; column < LONGS + INTS; column++) {
            for (long[] row : rows) out.putInt((int) row[column]);
        }

        return out.array();
    }
}
