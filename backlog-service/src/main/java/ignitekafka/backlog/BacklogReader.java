package ignitekafka.backlog;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteCache;

/** Reads the backlog of one connector, for {@link BacklogService#read}. */
final class BacklogReader {
    /** Units whose records are read together. */
    private static final int RECORD_GROUP = 1_024;

    /** Units whose chunks are read together. */
    private static final int CHUNK_GROUP = 64;

    /** Chunks of the first window of a group while their size is unknown. */
    private static final int UNKNOWN_SIZE_CHUNKS = 8;

    /** Chunks of the first window of a group. */
    private static final int FIRST_CHUNKS = 128;

    /** Maximum number of chunks of a window. */
    private static final int MAX_CHUNKS = 1_024;

    /** {@link BacklogPlugin#topology} from before the first read. */
    private final int topology;

    private final ReadSizes sizes;
    private final IgniteCache<BacklogKey, byte[]> backlog;
    private final Map<Integer, Long> incarnations;

    BacklogReader(BacklogPlugin plugin, Connector connector) {
        topology = plugin.topology();
        sizes = plugin.readSizes(connector.settings.connector);
        backlog = plugin.backlog(connector.settings);
        incarnations = new CacheIncarnations(plugin).byCacheId(connector);
    }

    byte[] read(List<Unit> units, int maxBytes) {
        List<UnitRead> all = new ArrayList<>();
        long bytes = 0;

        for (int from = 0; from < units.size(); from += RECORD_GROUP) {
            List<UnitRead> some = new ArrayList<>();

            for (Unit unit : units.subList(from, Math.min(units.size(), from + RECORD_GROUP)))
                some.add(new UnitRead(unit));

            if (bytes < maxBytes) bytes += read(some, maxBytes - bytes);

            all.addAll(some);
        }

        AnswerLimit.cut(all);

        return ReadAnswer.encode(all, topology);
    }

    /**
     * Reads records and expired keys before chunks, and chunks in descending order; {@link BacklogWriter} explains why
     * this order is safe.
     */
    private long read(List<UnitRead> some, long maxBytes) {
        readRecords(some);

        List<UnitRead> filled = some.stream().filter(UnitRead::mayHaveChanges).collect(Collectors.toList());
        long bytes = 0;

        some.forEach(one -> one.searched = !one.mayHaveChanges());

        for (int from = 0; from < filled.size() && bytes < maxBytes; from += CHUNK_GROUP) {
            List<UnitRead> group = filled.subList(from, Math.min(filled.size(), from + CHUNK_GROUP));

            readChunks(group, maxBytes - bytes);
            group.forEach(UnitRead::addExpired);
            bytes += bytes(group);
        }

        return bytes;
    }

    private void readRecords(List<UnitRead> some) {
        Set<BacklogKey> keys = new HashSet<>();

        for (UnitRead one : some) {
            keys.add(one.unit.record());
            keys.add(one.unit.expired());
        }

        Map<BacklogKey, byte[]> values = backlog.getAll(keys);

        some.forEach(one -> readRecord(one, values));
    }

    private void readRecord(UnitRead one, Map<BacklogKey, byte[]> values) {
        byte[] record = values.get(one.unit.record());

        if (!Long.valueOf(one.unit.incarnation).equals(incarnations.get(one.unit.cacheId))) {
            one.gone = true;

            return;
        }

        if (record == null) {
            backlog.invoke(one.unit.record(), RecordChange.check());
            record = backlog.get(one.unit.record());
        }

        one.start(UnitRecord.decode(record));
        one.expired = values.get(one.unit.expired());
    }

    /**
     * Reads until each unit has changes and {@code maxBytes} is exceeded, or until all chunks are read. Reads a unit
     * again if a late chunk was written below those that were searched.
     */
    private void readChunks(List<UnitRead> group, long maxBytes) {
        List<UnitRead> open = group.stream().filter(UnitRead::hasChunks).collect(Collectors.toList());

        group.forEach(one -> one.searched = !one.hasChunks());

        while (!open.isEmpty()) {
            readWindows(group, new ArrayList<>(open), maxBytes);
            open.removeIf(one -> one.changes.isEmpty());

            Map<BacklogKey, byte[]> records =
                    backlog.getAll(open.stream().map(one -> one.unit.record()).collect(Collectors.toSet()));

            open.removeIf(one -> !one.restart(records.get(one.unit.record())));
        }
    }

    private void readWindows(List<UnitRead> group, List<UnitRead> left, long maxBytes) {
        int chunks = sizes.known() ? FIRST_CHUNKS : UNKNOWN_SIZE_CHUNKS;

        while (!left.isEmpty()) {
            chunks = Math.min(chunks, sizes.chunks(Limits.bytes()));
            readWindow(left.subList(0, Math.min(left.size(), chunks)), chunks);

            long bytes = bytes(group);
            boolean exceeded = bytes >= maxBytes;
            boolean full = bytes >= Limits.bytes();

            left.removeIf(one -> !one.hasChunks() || full || exceeded && !one.changes.isEmpty());

            if (bytes <= maxBytes / 2) chunks = Math.min(MAX_CHUNKS, 2 * chunks);
        }
    }

    /** Reads the next chunks of each unit, the same number for each, in descending order. */
    private void readWindow(List<UnitRead> open, int chunksInAll) {
        int share = Math.max(1, chunksInAll / open.size());
        Map<BacklogKey, byte[]> chunks = new HashMap<>();

        for (int step = 0; step < share; step++) {
            Set<BacklogKey> keys = new HashSet<>();

            for (UnitRead one : open) {
                long index = one.lastOf(share) - step;

                if (index >= one.next()) keys.add(one.unit.chunk(index));
            }

            if (keys.isEmpty()) break;

            chunks.putAll(backlog.getAll(keys));
        }

        chunks.values().forEach(chunk -> sizes.found(chunk.length));

        for (UnitRead one : open) {
            long last = one.lastOf(share);

            for (long index = one.next(); index <= last; index++) {
                byte[] chunk = chunks.get(one.unit.chunk(index));

                if (chunk != null) one.changes.addAll(Chunk.decode(chunk));
            }

            one.searchedTo(last);
        }
    }

    private static long bytes(List<UnitRead> group) {
        return group.stream().mapToLong(UnitRead::bytes).sum();
    }
}
