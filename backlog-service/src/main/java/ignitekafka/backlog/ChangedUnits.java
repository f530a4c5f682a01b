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
 * Collects from the {@link UnitJournal}s of all nodes which units were written since a reader's position. The result is
 * "any unit" if that is unknown: partition owners or caches have changed, the journals are different ones, a journal
 * does not reach back far enough, or a node does not answer.
 *
 * <p>A position has int64 and int32 of the affinity version, int32 0, then 16 bytes id and int64 number of each
 * journal. It is empty if nothing is known.
 */
final class ChangedUnits {
    private static final int MAGIC = 0x31444B42;
    private static final int JOURNAL = 24;

    /** Timeout of a node: the reader does not need its answer, so a busy node must not delay it for long. */
    private static final long TIMEOUT_MS = 5_000;

    /** Position for the reader's next call. */
    private final byte[] position;

    /** Null if any unit may have changed. */
    private final Set<Unit> units;

    private ChangedUnits(byte[] position, Set<Unit> units) {
        this.position = position;
        this.units = units;
    }

    static ChangedUnits since(GridKernalContext ctx, String connector, byte[] position) {
        HashMap<UUID, Long> seen = numbers(position);
        AffinityTopologyVersion version = ctx.cache()
                .context()
                .exchange()
                .readyAffinityVersion(); // read before the answers, so that no change of owners is missed
        List<UnitJournal.Answer> answers;

        try {
            answers = NodeJob.broadcast(
                            ctx, TIMEOUT_MS, node -> node.journal(connector).since(seen))
                    .stream()
                    .map(UnitJournal.Answer::read)
                    .collect(Collectors.toList());
        } catch (BacklogException e) {
            if (e.code() != UNAVAILABLE) throw e;

            return new ChangedUnits(new byte[0], null);
        }

        byte[] now = position(version, answers);
        boolean known = position.length == now.length
                && seen.size() == answers.size()
                && answers.stream().allMatch(one -> one.known)
                && Chunk.buffer(position).limit(16).equals(Chunk.buffer(now).limit(16));

        return new ChangedUnits(
                now,
                known
                        ? answers.stream()
                                .flatMap(one -> one.units.stream())
                                .collect(Collectors.toCollection(HashSet::new))
                        : null);
    }

    private static HashMap<UUID, Long> numbers(byte[] position) {
        HashMap<UUID, Long> numbers = new HashMap<>();

        if (position.length == 0) return numbers;

        if (position.length < 16 || (position.length - 16) % JOURNAL != 0)
            throw new BacklogException(MALFORMED, "a position cannot have " + position.length + " bytes");

        ByteBuffer in = Chunk.buffer(position);

        in.position(16);

        while (in.hasRemaining()) numbers.put(new UUID(in.getLong(), in.getLong()), in.getLong());

        return numbers;
    }

    private static byte[] position(AffinityTopologyVersion version, List<UnitJournal.Answer> answers) {
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
        ByteBuffer out = Chunk.buffer(new byte[20 + Unit.BYTES * count + position.length]);

        out.putInt(MAGIC)
                .putInt(plugin.topology())
                .putInt(units == null ? 1 : 0)
                .putInt(count)
                .putInt(position.length);

        if (units != null) units.forEach(unit -> unit.write(out));

        return out.put(position).array();
    }
}
