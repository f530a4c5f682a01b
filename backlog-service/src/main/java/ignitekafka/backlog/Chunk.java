package ignitekafka.backlog;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * One entry of the backlog cache: changes of {@value #NUMBERS} consecutive numbers of a unit, in ascending order. A
 * number captured with two contents is in it twice. Writing and removing chunks is an order of magnitude cheaper than
 * one entry for each change, and makes a batch of a unit visible at once.
 *
 * <p>Little-endian, each change: int64 number, int64 time (ms), int64 hash, int8 kind, int32 length of key, int32
 * length of value (-1: none), then, if the kind has the bit {@value #VERSIONED}, int64 rank, int64 order and int8
 * cluster of the version, then key, value.
 */
final class Chunk {
    /**
     * Low enough that a chunk, which is rewritten with each change under low load, fits into about a page; high enough
     * to save entries under high load.
     */
    static final int NUMBERS = 32;

    private static final int HEADER = 33;

    /** Bit of the kind of a change that has a version. */
    private static final int VERSIONED = 0x40;

    private Chunk() {
        // Static functions only.
    }

    static long index(long number) {
        return Math.floorDiv(number, NUMBERS);
    }

    static byte[] encode(Collection<Change> changes) {
        int bytes = 0;

        for (Change change : changes)
            bytes += HEADER
                    + (change.version == null ? 0 : EntryVersion.BYTES)
                    + change.key.length
                    + Math.max(0, change.valueLength());

        ByteBuffer out = buffer(new byte[bytes]);

        for (Change change : changes) {
            out.putLong(change.number)
                    .putLong(change.timeMs)
                    .putLong(change.hash)
                    .put((byte) (change.version == null ? change.kind : change.kind | VERSIONED));
            out.putInt(change.key.length).putInt(change.valueLength());

            if (change.version != null) change.version.write(out);

            out.put(change.key);

            if (change.value != null) out.put(change.value);
        }

        return out.array();
    }

    static List<Change> decode(byte[] chunk) {
        List<Change> changes = new ArrayList<>();

        for (ByteBuffer in = buffer(chunk); in.hasRemaining(); ) {
            long number = in.getLong();
            long timeMs = in.getLong();
            long hash = in.getLong();
            byte kind = in.get();
            byte[] key = new byte[in.getInt()];
            int valueLength = in.getInt();
            EntryVersion version = (kind & VERSIONED) == 0 ? null : EntryVersion.read(in);
            byte[] value = valueLength < 0 ? null : new byte[valueLength];

            in.get(key);

            if (value != null) in.get(value);

            changes.add(new Change(number, timeMs, (byte) (kind & ~VERSIONED), hash, key, value, version));
        }

        return changes;
    }

    /** The highest number, or -1 for an empty chunk; decodes no keys or values. */
    static long lastNumber(byte[] chunk) {
        long last = -1;

        for (ByteBuffer in = buffer(chunk); in.hasRemaining(); ) {
            last = in.getLong();
            in.position(in.position() + 16);

            int versionLength = (in.get() & VERSIONED) == 0 ? 0 : EntryVersion.BYTES;
            int keyLength = in.getInt();
            int valueLength = in.getInt();

            in.position(in.position() + versionLength + keyLength + Math.max(0, valueLength));
        }

        return last;
    }

    /** Returns the union; the array {@code present} itself if {@code added} has nothing new. */
    static byte[] merge(byte[] present, byte[] added) {
        if (present == null) return added;

        if (lastNumber(present) < buffer(added).getLong()) {
            byte[] both = Arrays.copyOf(present, present.length + added.length);

            System.arraycopy(added, 0, both, present.length, added.length);

            return both;
        }

        Set<Change> all = new LinkedHashSet<>(decode(present));

        return all.addAll(decode(added)) ? encode(ascending(all)) : present;
    }

    static List<Change> ascending(Collection<Change> changes) {
        List<Change> sorted = new ArrayList<>(changes);

        sorted.sort(Comparator.comparingLong(change -> change.number));

        return sorted;
    }

    static ByteBuffer buffer(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
}
