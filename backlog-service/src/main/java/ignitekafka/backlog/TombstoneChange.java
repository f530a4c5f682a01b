package ignitekafka.backlog;

import java.nio.ByteBuffer;
import javax.cache.processor.EntryProcessor;
import javax.cache.processor.MutableEntry;
import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.binary.BinaryRawReader;
import org.apache.ignite.binary.BinaryRawWriter;
import org.apache.ignite.binary.BinaryReader;
import org.apache.ignite.binary.BinaryWriter;
import org.apache.ignite.binary.Binarylizable;

/**
 * Raises the version of a removed key in the side cache of {@link Tombstones}; idempotent, in any order.
 *
 * <p>An entry is an {@link EntryVersion} and a hash of the rule that made its rank: ranks of another rule say nothing.
 */
final class TombstoneChange implements EntryProcessor<Object, byte[], Void>, Binarylizable {
    private byte[] version;
    private long forgetMs;

    /** For Ignite's marshaller. */
    TombstoneChange() {
        // Fields are read from bytes.
    }

    TombstoneChange(EntryVersion version, String rule, long forgetMs) {
        this.version = new byte[EntryVersion.BYTES + Integer.BYTES];
        this.forgetMs = forgetMs;

        ByteBuffer out = Chunk.buffer(this.version);

        version.write(out);
        out.putInt(rule.hashCode());
    }

    /** The version in an entry; without its rank if another rule made it. */
    static EntryVersion decoded(byte[] entry, String rule) {
        return decoded(entry, rule.hashCode());
    }

    private static EntryVersion decoded(byte[] entry, int ruleHash) {
        if (entry.length != EntryVersion.BYTES + Integer.BYTES) return EntryVersion.NONE; // of an early build

        ByteBuffer in = Chunk.buffer(entry);
        EntryVersion version = EntryVersion.read(in);

        return in.getInt() == ruleHash ? version : version.ranked(WriteRank.NONE);
    }

    @Override
    public Void process(MutableEntry<Object, byte[]> entry, Object... arguments) {
        byte[] present = entry.getValue();

        if (present == null || isNewerThan(present)) entry.setValue(version);

        return null;
    }

    private boolean isNewerThan(byte[] present) {
        int rule = Chunk.buffer(version).getInt(EntryVersion.BYTES);
        EntryVersion before = decoded(present, rule);

        return !EntryVersion.newerRemoval(before, decoded(version, rule), forgetMs)
                .equals(before);
    }

    @Override
    public void writeBinary(BinaryWriter writer) throws BinaryObjectException {
        BinaryRawWriter raw = writer.rawWriter();

        raw.writeByteArray(version);
        raw.writeLong(forgetMs);
    }

    @Override
    public void readBinary(BinaryReader reader) throws BinaryObjectException {
        BinaryRawReader raw = reader.rawReader(); // may be called once

        version = raw.readByteArray();
        forgetMs = raw.readLong();
    }
}
