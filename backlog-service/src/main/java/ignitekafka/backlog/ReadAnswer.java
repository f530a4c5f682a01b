package ignitekafka.backlog;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Encodes the answer of {@link BacklogService#read}. */
final class ReadAnswer {
    /** Bytes before the columns. */
    static final long HEADER = 24;

    /** Bytes of a unit in all its columns. */
    static final long UNIT = 28;

    private static final long CHANGE = 33;
    private static final int MAGIC = 0x31434B42;
    private static final int MAGIC_VERSIONED = 0x32434B42;

    private ReadAnswer() {
        // Static methods only.
    }

    /** Bytes of a change: columns, key and value; those of a version are counted for each. */
    static long bytes(Change change) {
        return CHANGE + EntryVersion.BYTES + entryBytes(change);
    }

    private static long entryBytes(Change change) {
        return PageForm.length(change.key) + PageForm.length(change.value);
    }

    static byte[] encode(List<UnitRead> units, int topology) {
        List<Change> changes = new ArrayList<>();

        for (UnitRead unit : units) changes.addAll(unit.changes);

        boolean versioned = changes.stream().anyMatch(change -> change.version != null);
        long columns = UNIT * units.size() + (CHANGE + (versioned ? EntryVersion.BYTES : 0)) * changes.size();
        long entryBytes = changes.stream().mapToLong(ReadAnswer::entryBytes).sum();
        ByteBuffer out = Chunk.buffer(new byte[Math.toIntExact(HEADER + columns + entryBytes)]);

        out.putInt(versioned ? MAGIC_VERSIONED : MAGIC)
                .putInt(units.size())
                .putInt(changes.size())
                .putInt(topology)
                .putLong(entryBytes);
        units.forEach(unit -> out.putLong(unit.record == null ? 0 : unit.record.markNumber));
        units.forEach(unit -> out.putLong(unit.stamp));
        changes.forEach(change -> out.putLong(change.number));
        changes.forEach(change -> out.putLong(change.timeMs));
        changes.forEach(change -> out.putLong(change.hash));

        if (versioned) {
            changes.forEach(change -> out.putLong(version(change).rank));
            changes.forEach(change -> out.putLong(version(change).order));
        }

        units.forEach(unit -> out.putInt(unit.changes.size()));
        units.forEach(unit -> out.putInt(unit.marks()));
        units.forEach(unit -> out.putInt(unit.more() ? 1 : 0));
        changes.forEach(change -> out.putInt(PageForm.length(change.key)));
        changes.forEach(change -> out.putInt(PageForm.length(change.value)));
        changes.forEach(change -> out.put(change.kind));

        if (versioned) changes.forEach(change -> out.put(version(change).cluster));

        changes.forEach(change -> {
            PageForm.put(out, change.key);
            PageForm.put(out, change.value);
        });

        return out.array();
    }

    private static EntryVersion version(Change change) {
        return change.version == null ? EntryVersion.NONE : change.version;
    }
}
