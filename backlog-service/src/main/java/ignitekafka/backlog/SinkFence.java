package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.FENCED;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.TreeMap;

/**
 * Tokens of a sink that are in force: one generation, and the token of each slot that a task of it has taken.
 * Immutable. Encoded as int32 generation, then for each slot int32 number and its token.
 */
final class SinkFence {
    /** No run has written. */
    static final SinkFence NONE = new SinkFence(0, new TreeMap<>());

    private static final int SLOT_BYTES = Integer.BYTES + WriterToken.BYTES;

    final int generation;
    private final TreeMap<Integer, WriterToken> slots;

    private SinkFence(int generation, TreeMap<Integer, WriterToken> slots) {
        this.generation = generation;
        this.slots = slots;
    }

    /** The token that a write of a slot must have. */
    WriterToken tokenOf(int slot) {
        WriterToken token = slots.get(slot);

        return token == null ? WriterToken.first(generation) : token;
    }

    /**
     * Puts a token in force for slots; without slots, for the whole sink: its older generations end.
     *
     * @throws BacklogException A greater token is in force.
     */
    SinkFence raised(String sink, int[] of, WriterToken token) {
        if (token.generation < generation) throw older(sink, "the sink", token, WriterToken.first(generation));

        TreeMap<Integer, WriterToken> after = token.generation > generation ? new TreeMap<>() : new TreeMap<>(slots);

        for (int slot : of) {
            WriterToken present = after.get(slot);

            if (present != null && present.compareTo(token) > 0) throw older(sink, "slot " + slot, token, present);

            after.put(slot, token);
        }

        return new SinkFence(token.generation, after);
    }

    /** The greater token of each slot; a message about an older fence may arrive late. */
    SinkFence merged(SinkFence other) {
        if (other.generation != generation) return other.generation > generation ? other : this;

        TreeMap<Integer, WriterToken> both = new TreeMap<>(slots);

        other.slots.forEach(
                (slot, token) -> both.merge(slot, token, (one, two) -> one.compareTo(two) >= 0 ? one : two));

        return new SinkFence(generation, both);
    }

    private static BacklogException older(String sink, String what, WriterToken token, WriterToken present) {
        return new BacklogException(
                FENCED,
                "a newer task writes for " + what + " of sink '" + sink + "': it has " + present + ", this one has "
                        + token);
    }

    byte[] encode() {
        ByteBuffer out = Chunk.buffer(new byte[Integer.BYTES + SLOT_BYTES * slots.size()]);

        out.putInt(generation);

        for (Map.Entry<Integer, WriterToken> slot : slots.entrySet()) {
            out.putInt(slot.getKey());
            slot.getValue().write(out);
        }

        return out.array();
    }

    static SinkFence decode(byte[] bytes) {
        if (bytes == null) return NONE;

        ByteBuffer in = Chunk.buffer(bytes);
        int generation = in.getInt();
        TreeMap<Integer, WriterToken> slots = new TreeMap<>();

        while (in.hasRemaining()) slots.put(in.getInt(), WriterToken.read(in));

        return new SinkFence(generation, slots);
    }
}
