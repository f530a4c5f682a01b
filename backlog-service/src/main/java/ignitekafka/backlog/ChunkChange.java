package ignitekafka.backlog;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.cache.processor.EntryProcessor;
import javax.cache.processor.MutableEntry;
import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.binary.BinaryRawReader;
import org.apache.ignite.binary.BinaryRawWriter;
import org.apache.ignite.binary.BinaryReader;
import org.apache.ignite.binary.BinaryWriter;
import org.apache.ignite.binary.Binarylizable;

/** Adds changes to a {@link Chunk}, or removes some, on its primary node; idempotent. */
final class ChunkChange implements EntryProcessor<BacklogKey, byte[], Void>, Binarylizable {
    private boolean add;

    /** A chunk to add; or int64 number and int64 hash of each change to remove. */
    private byte[] bytes;

    /** For Ignite's marshaller. */
    ChunkChange() {
        // Fields are read from bytes.
    }

    private ChunkChange(boolean add, byte[] bytes) {
        this.add = add;
        this.bytes = bytes;
    }

    static ChunkChange add(byte[] chunk) {
        return new ChunkChange(true, chunk);
    }

    /** Removes exactly these changes; another content under the same number stays. */
    static ChunkChange remove(List<long[]> numbersAndHashes) {
        ByteBuffer out = Chunk.buffer(new byte[16 * numbersAndHashes.size()]);

        numbersAndHashes.forEach(one -> out.putLong(one[0]).putLong(one[1]));

        return new ChunkChange(false, out.array());
    }

    @Override
    public Void process(MutableEntry<BacklogKey, byte[]> entry, Object... arguments) {
        byte[] present = entry.getValue();

        if (add) {
            byte[] merged = Chunk.merge(present, bytes);

            if (merged != present) entry.setValue(merged);
        } else if (present != null) remove(entry, present);

        return null;
    }

    private void remove(MutableEntry<BacklogKey, byte[]> entry, byte[] present) {
        Set<Change> removed = new HashSet<>();

        for (ByteBuffer in = Chunk.buffer(bytes); in.hasRemaining(); )
            removed.add(new Change(in.getLong(), 0, (byte) 0, in.getLong(), null, null, null));

        List<Change> left = new ArrayList<>(Chunk.decode(present));

        if (!left.removeIf(removed::contains)) return;

        if (left.isEmpty()) entry.remove();
        else entry.setValue(Chunk.encode(left));
    }

    @Override
    public void writeBinary(BinaryWriter writer) throws BinaryObjectException {
        BinaryRawWriter raw = writer.rawWriter();

        raw.writeBoolean(add);
        raw.writeByteArray(bytes);
    }

    @Override
    public void readBinary(BinaryReader reader) throws BinaryObjectException {
        BinaryRawReader raw = reader.rawReader();

        add = raw.readBoolean();
        bytes = raw.readByteArray();
    }
}
