package ignitekafka.backlog;

import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.binary.BinaryRawReader;
import org.apache.ignite.binary.BinaryRawWriter;
import org.apache.ignite.binary.BinaryReader;
import org.apache.ignite.binary.BinaryWriter;
import org.apache.ignite.binary.Binarylizable;

/** Who writes: a sink, the slots that its task owns, and the task's token. One instance for each request and node. */
final class FencedWriter implements Binarylizable {
    private String sink;
    private int[] slots;
    private WriterToken token;

    /** The fence that was compared last; fences are immutable, so an equal reference needs no second comparison. */
    private transient SinkFence compared;

    private transient boolean allowed;

    /** For Ignite's marshaller. */
    FencedWriter() {
        // Fields are read from bytes.
    }

    FencedWriter(String sink, int[] slots, WriterToken token) {
        this.sink = sink;
        this.slots = slots;
        this.token = token;
    }

    /** Whether the token is in force for all slots on this node. */
    synchronized boolean isInForce(BacklogPlugin plugin) {
        SinkFence fence = plugin.fences().of(sink);

        if (fence != compared) {
            compared = fence;
            allowed = allowedBy(fence);
        }

        return allowed;
    }

    private boolean allowedBy(SinkFence fence) {
        if (token.generation != fence.generation) return false;

        for (int slot : slots) {
            if (!fence.tokenOf(slot).equals(token)) return false;
        }

        return true;
    }

    /** The refusal of a write, from the fence of this node. */
    BacklogException refused(BacklogPlugin plugin) {
        SinkFence fence = plugin.fences().of(sink);

        for (int slot : slots) {
            if (!fence.tokenOf(slot).equals(token))
                return new BacklogException(
                        BacklogException.Code.FENCED,
                        "sink '" + sink + "' may not write for slot " + slot + ": this task has " + token
                                + ", in force is " + fence.tokenOf(slot));
        }

        return new BacklogException(
                BacklogException.Code.FENCED, "sink '" + sink + "' may not write: this task has " + token);
    }

    @Override
    public void writeBinary(BinaryWriter writer) throws BinaryObjectException {
        BinaryRawWriter raw = writer.rawWriter();
        byte[] bytes = new byte[WriterToken.BYTES];

        token.write(Chunk.buffer(bytes));
        raw.writeString(sink);
        raw.writeIntArray(slots);
        raw.writeByteArray(bytes);
    }

    @Override
    public void readBinary(BinaryReader reader) throws BinaryObjectException {
        BinaryRawReader raw = reader.rawReader();

        sink = raw.readString();
        slots = raw.readIntArray();
        token = WriterToken.read(Chunk.buffer(raw.readByteArray()));
    }
}
