package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.MALFORMED;
import static ignitekafka.backlog.BacklogException.Code.UNAVAILABLE;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.affinity.AffinityTopologyVersion;

/**
 * Asks every node's {@link UnitJournal} what was written since a reader has looked. Every unit may have been where that
 * cannot be told: the owners of partitions or the caches have changed, the journals are not those of before, one of
 * them does not go back so far, or a node does not answer.
 *
 * <p>A place is int64 and int32 of the affinity version, int32 0, then 16 bytes id and int64 number of each journal;
 * none where nothing is known.
 */
final class ChangedUnits {
    private static final int MAGIC = 0x31444B42;
    private static final int JOURNAL = 24;

    /**
     * Longest wait for the nodes: one whose threads are all busy must not hold up a reader that can do without its
     * answer.
     */
    private static final long WAIT_MS = 5_000;

    /** Where the reader goes on next time. */
    private final byte[] place;

    /** Null when every unit may have changed. */
    private final Set<Unit> units;

    private ChangedUnits(byte[] place, Set<Unit> units) {
        this.place = place;
        this.units = units;
    }

    static ChangedUnits since(GridKernalContext ctx, String connector, byte[] place) {
        HashMap<UUID, Long> seen = numbers(place);
        AffinityTopologyVersion version = ctx.cache()
                .context()
                .exchange()
                .readyAffinityVersion(); // older than the answers: a change is not overlooked
        List<UnitJournal.Answer> answers;

        try {
            answers = NodeJob.everywhere(
                            ctx, WAIT_MS, node -> node.journal(connector).since(seen))
                    .stream()
                    .map(UnitJournal.Answer::read)
                    .collect(Collectors.toList());
        } catch (BacklogException e) {
            if (e.code() != UNAVAILABLE) throw e;

            return new ChangedUnits(new byte[0], null);
        }

        byte[] now = place(version, answers);
        boolean known = place.length == now.length
                && seen.size() == answers.size()
                && answers.stream().allMatch(one -> one.known)
                && Chunk.buffer(place).limit(16).equals(Chunk.buffer(now).limit(16));

        return new ChangedUnits(
                now,
                known
                        ? answers.stream()
                                .flatMap(one -> one.units.stream())
                                .collect(Collectors.toCollection(HashSet::new))
                        : null);
    }

    private static HashMap<UUID, Long> numbers(byte[] place) {
        HashMap<UUID, Long> numbers = new HashMap<>();

        if (place.length == 0) return numbers;

        if (place.length < 16 || (place.length - 16) % JOURNAL != 0)
            throw new BacklogException(MALFORMED, "a place of " + place.length + " bytes");

        for (ByteBuffer in = Chunk.buffer(place).position(16); in.hasRemaining(); )
            numbers.put(new UUID(in.getLong(), in.getLong()), in.getLong());

        return numbers;
    }

    private static byte[] place(AffinityTopologyVersion version, List<UnitJournal.Answer> answers) {
        Map<UUID, Long> numbers = new TreeMap<>();

        answers.forEach(one -> numbers.put(one.id, one.number));

        ByteBuffer out = Chunk.buffer(new byte[16 + JOURNAL * numbers.size()]);

        out.putLong(version.topologyVersion())
                .putInt(version.minorTopologyVersion())
                .putInt(0);
        numbers.forEach((id, number) -> out.putLong(id.getMostSignificantBits())
                .putLong(id.getLeastSignificantBits())
                .putLong(number));

        return out.array();
    }

    /** The answer of {@link BacklogService#changed}. */
    byte[] encode(BacklogPlugin plugin) {
        int count = units == null ? 0 : units.size();
        ByteBuffer out = Chunk.buffer(new byte[20 + Unit.BYTES * count + place.length]);

        out.putInt(MAGIC)
                .putInt(plugin.topology())
                .putInt(units == null ? 1 : 0)
                .putInt(count)
                .putInt(place.length);

        if (units != null) units.forEach(unit -> unit.write(out));

        return out.put(place).array();
    }
}
