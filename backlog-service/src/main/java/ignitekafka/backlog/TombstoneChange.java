package ignitekafka.backlog;

import javax.cache.processor.EntryProcessor;
import javax.cache.processor.MutableEntry;
import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.binary.BinaryReader;
import org.apache.ignite.binary.BinaryWriter;
import org.apache.ignite.binary.Binarylizable;

/** Raises the version of a removed key in the side cache of {@link Tombstones}; idempotent, in any order. */
final class TombstoneChange implements EntryProcessor<Object, byte[], Void>, Binarylizable {
    private byte[] version;

    /** For Ignite's marshaller. */
    TombstoneChange() {
        // Fields are read from bytes.
    }

    TombstoneChange(EntryVersion version) {
        this.version = new byte[EntryVersion.BYTES];
        version.write(Chunk.buffer(this.version));
    }

    @Override
    public Void process(MutableEntry<Object, byte[]> entry, Object... arguments) {
        byte[] present = entry.getValue();

        if (present == null || decoded(present).compareTo(decoded(version)) < 0) entry.setValue(version);

        return null;
    }

    private static EntryVersion decoded(byte[] bytes) {
        return EntryVersion.read(Chunk.buffer(bytes));
    }

    @Override
    public void writeBinary(BinaryWriter writer) throws BinaryObjectException {
        writer.rawWriter().writeByteArray(version);
    }

    @Override
    public void readBinary(BinaryReader reader) throws BinaryObjectException {
        version = reader.rawReader().readByteArray();
    }
}
