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

    /** Bytes of a change in all its columns. */
    static final long CHANGE = 33;

    private static final int MAGIC = 0x31434B42;

    private ReadAnswer() {
        // Static methods only.
    }

    /** Bytes of a change: columns, key and value. */
    static long bytes(Change change) {
        return CHANGE + PageForm.length(change.key) + PageForm.length(change.value);
    }

    static byte[] encode(List<UnitRead> units, int topology) {
        List<Change> changes = new ArrayList<>();

        for (UnitRead unit : units) changes.addAll(unit.changes);

        long changeBytes = changes.stream().mapToLong(ReadAnswer::bytes).sum();
        ByteBuffer out = Chunk.buffer(new byte[Math.toIntExact(HEADER + UNIT * units.size() + changeBytes)]);

        out.putInt(MAGIC)
                .putInt(units.size())
                .putInt(changes.size())
                .putInt(topology)
                .putLong(changeBytes - CHANGE * changes.size());
        units.forEach(unit -> out.putLong(unit.record == null ? 0 : unit.record.markNumber));
        units.forEach(unit -> out.putLong(unit.stamp));
        changes.forEach(change -> out.putLong(change.number));
        changes.forEach(change -> out.putLong(change.timeMs));
        changes.forEach(change -> out.putLong(change.hash));
        units.forEach(unit -> out.putInt(unit.changes.size()));
        units.forEach(unit -> out.putInt(unit.marks()));
        units.forEach(unit -> out.putInt(unit.more() ? 1 : 0));
        changes.forEach(change -> out.putInt(PageForm.length(change.key)));
        changes.forEach(change -> out.putInt(PageForm.length(change.value)));
        changes.forEach(change -> out.put(change.kind));
        changes.forEach(change -> {
            PageForm.put(out, change.key);
            PageForm.put(out, change.value);
        });

        return out.array();
    }
}
