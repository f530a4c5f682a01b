package ignitekafka.backlog;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/** Sent changes of one unit; {@link BacklogService#acknowledge(String, byte[], String)} defines the layout. */
final class Acknowledgement {
    final Unit unit;

    /** Highest stamp of the expired keys that were sent, or 0. */
    final long expiredStamp;

    /** Number and hash of each change, by chunk. */
    final SortedMap<Long, List<long[]>> byChunk = new TreeMap<>();

    final Ranges numbers = new Ranges();

    private Acknowledgement(Unit unit, long expiredStamp) {
        this.unit = unit;
        this.expiredStamp = expiredStamp;
    }

    static Acknowledgement read(ByteBuffer in) {
        Acknowledgement read = new Acknowledgement(Unit.read(in), in.getLong());
        int count = in.getInt();

        in.getInt();

        for (int i = 0; i < count; i++) {
            long number = in.getLong();
            long hash = in.getLong();

            if (number >= 0) // others are expired keys; chunk -1 would be the unit's record
            read.add(number, hash);
        }

        return read;
    }

    private void add(long number, long hash) {
        byChunk.computeIfAbsent(Chunk.index(number), index -> new ArrayList<>()).add(new long[] {number, hash});
        numbers.add(number, number);
    }
}
