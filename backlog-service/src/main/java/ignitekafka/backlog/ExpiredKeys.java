package ignitekafka.backlog;

import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.cache.processor.EntryProcessor;
import javax.cache.processor.MutableEntry;
import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.binary.BinaryRawReader;
import org.apache.ignite.binary.BinaryRawWriter;
import org.apache.ignite.binary.BinaryReader;
import org.apache.ignite.binary.BinaryWriter;
import org.apache.ignite.binary.Binarylizable;

/**
 * Adds or removes expired keys of a unit, on the primary node. Ignite assigns no number to an expiry, so its order
 * among the changes is unknown, and the reader must look up whether the cache still lacks the key. Each key has a stamp
 * that increases within the unit; acknowledging a stamp removes the keys up to it.
 *
 * <p>Little-endian: int64 next stamp, then int64 stamp, int64 time (ms), int32 length, key, for each key.
 */
final class ExpiredKeys implements EntryProcessor<BacklogKey, byte[], Void>, Binarylizable {
    /** Keys to add, in this form, or null. */
    private byte[] added;

    private long acknowledged;

    /** For Ignite's marshaller. */
    ExpiredKeys() {
        // Fields are read from bytes.
    }

    private ExpiredKeys(byte[] added, long acknowledged) {
        this.added = added;
        this.acknowledged = acknowledged;
    }

    /** Adds keys with the times of their expiry. */
    static ExpiredKeys add(Map<ByteBuffer, Long> times) {
        Map<ByteBuffer, long[]> keys = new LinkedHashMap<>();

        times.forEach((key, timeMs) -> keys.put(key, new long[] {0, timeMs}));

        return new ExpiredKeys(encode(1, keys), 0);
    }

    /** Removes the keys stamped up to {@code stamp}. */
    static ExpiredKeys remove(long stamp) {
        return new ExpiredKeys(null, stamp);
    }

    /** Keys with stamp and time, lowest stamp first. */
    static Map<ByteBuffer, long[]> decode(byte[] bytes) {
        Map<ByteBuffer, long[]> keys = new LinkedHashMap<>();
        ByteBuffer in = Chunk.buffer(bytes);

        for (in.getLong(); in.hasRemaining(); ) {
            long[] stampAndTime = {in.getLong(), in.getLong()};
            byte[] key = new byte[in.getInt()];

            in.get(key);
            keys.put(ByteBuffer.wrap(key), stampAndTime);
        }

        return keys;
    }

    private static byte[] encode(long next, Map<ByteBuffer, long[]> keys) {
        int bytes = 8;

        for (ByteBuffer key : keys.keySet()) bytes += 20 + key.remaining();

        ByteBuffer out = Chunk.buffer(new byte[bytes]).putLong(next);

        keys.forEach((key, stampAndTime) -> out.putLong(stampAndTime[0])
                .putLong(stampAndTime[1])
                .putInt(key.remaining())
                .put(key.duplicate()));

        return out.array();
    }

    @Override
    public Void process(MutableEntry<BacklogKey, byte[]> entry, Object... arguments) {
        byte[] present = entry.getValue();
        long next = present == null ? 1 : Chunk.buffer(present).getLong();
        Map<ByteBuffer, long[]> keys = present == null ? new LinkedHashMap<>() : decode(present);

        if (added == null) {
            if (present == null || !keys.values().removeIf(stampAndTime -> stampAndTime[0] <= acknowledged))
                return null;
        } else {
            for (Map.Entry<ByteBuffer, long[]> add : decode(added).entrySet()) {
                keys.remove(add.getKey());
                keys.put(add.getKey(), new long[] {next++, add.getValue()[1]});
            }
        }

        entry.setValue(encode(next, keys));

        return null;
    }

    @Override
    public void writeBinary(BinaryWriter writer) throws BinaryObjectException {
        BinaryRawWriter raw = writer.rawWriter();

        raw.writeByteArray(added);
        raw.writeLong(acknowledged);
    }

    @Override
    public void readBinary(BinaryReader reader) throws BinaryObjectException {
        BinaryRawReader raw = reader.rawReader();

        added = raw.readByteArray();
        acknowledged = raw.readLong();
    }
}
