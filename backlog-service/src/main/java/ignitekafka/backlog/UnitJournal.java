package ignitekafka.backlog;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.UUID;

/**
 * The units of one connector that this node has written in the backlog, numbered in order. A write is noted once it can
 * be read: a reader that has seen its number and then reads the unit has the write. Acknowledgements are not noted.
 *
 * <p>Numbers belong to one journal; each start of a node and each new capture begins a new one. A node that dies
 * between a write and its note leaves no note; the change of partition owners reveals that.
 */
final class UnitJournal {
    /** Maximum number of units; a reader that is farther behind must read all units. */
    static final int UNITS = 100_000;

    private final UUID id = UUID.randomUUID();
    private final Map<Unit, Long> numbers = new HashMap<>();
    private final NavigableMap<Long, Unit> units = new TreeMap<>();
    private long number;
    private long forgotten;

    synchronized void note(Collection<Unit> written) {
        for (Unit unit : written) {
            Long before = numbers.put(unit, ++number);

            if (before != null) units.remove(before);

            units.put(number, unit);
        }

        while (units.size() > UNITS) {
            Map.Entry<Long, Unit> oldest = units.pollFirstEntry();

            numbers.remove(oldest.getValue());
            forgotten = oldest.getKey();
        }
    }

    /** Encodes the units noted after the number that {@code seen} has for this journal, for {@link Answer#read}. */
    synchronized byte[] since(Map<UUID, Long> seen) {
        Long from = seen.get(id);
        boolean known = from != null && from >= forgotten;
        Collection<Unit> later = known ? units.tailMap(from, false).values() : Collections.emptyList();
        ByteBuffer out = Chunk.buffer(new byte[Answer.HEADER + Unit.BYTES * later.size()]);

        out.putLong(id.getMostSignificantBits())
                .putLong(id.getLeastSignificantBits())
                .putLong(number)
                .putInt(known ? 1 : 0);
        later.forEach(unit -> unit.write(out));

        return out.array();
    }

    /** Units of one journal, as a reader receives them. */
    static final class Answer {
        private static final int HEADER = 28;

        final UUID id;
        final long number;

        /** Whether {@code units} is complete; false if the reader is too far behind. */
        final boolean known;

        final List<Unit> units = new ArrayList<>();

        private Answer(UUID id, long number, boolean known) {
            this.id = id;
            this.number = number;
            this.known = known;
        }

        static Answer read(byte[] bytes) {
            ByteBuffer in = Chunk.buffer(bytes);
            Answer answer = new Answer(new UUID(in.getLong(), in.getLong()), in.getLong(), in.getInt() != 0);

            while (in.hasRemaining()) answer.units.add(Unit.read(in));

            return answer;
        }
    }
}
