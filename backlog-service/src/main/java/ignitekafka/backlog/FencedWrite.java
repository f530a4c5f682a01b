package ignitekafka.backlog;

import javax.cache.processor.EntryProcessor;
import javax.cache.processor.MutableEntry;
import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.binary.BinaryRawReader;
import org.apache.ignite.binary.BinaryRawWriter;
import org.apache.ignite.binary.BinaryReader;
import org.apache.ignite.binary.BinaryWriter;
import org.apache.ignite.binary.Binarylizable;
import org.apache.ignite.internal.processors.cache.GridCacheContext;

/**
 * A put or removal of a sink, which its key's primary node executes only while the token of the sink's task is in
 * force. The first argument of the processor is the {@link FencedWriter}.
 *
 * <p>The token is compared under the lock of the entry. So once a newer token is in memory on every node, an older
 * write either has changed its entry already, and the newer task's write comes after it, or changes nothing: also one
 * that waited in a node, a link or a client for any time. Backups receive the primary's result.
 */
final class FencedWrite implements EntryProcessor<Object, Object, Boolean>, Binarylizable {
    /** Result of a write whose token is not in force; null for one that was executed. */
    static final Boolean REFUSED = false;

    private boolean insert;

    /** Value in binary form; null for a removal. */
    private byte[] value;

    /** For Ignite's marshaller. */
    FencedWrite() {
        // Fields are read from bytes.
    }

    /**
     * Makes a write.
     *
     * @param value Value in binary form; null to remove the entry.
     * @param insert Whether to leave an existing entry as it is.
     */
    FencedWrite(byte[] value, boolean insert) {
        this.value = value;
        this.insert = insert;
    }

    @Override
    public Boolean process(MutableEntry<Object, Object> entry, Object... arguments) {
        GridCacheContext<?, ?> cache = entry.unwrap(GridCacheContext.class);

        if (!((FencedWriter) arguments[0]).isInForce(BacklogPlugin.of(cache.kernalContext()))) return REFUSED;

        if (value == null) entry.remove();
        else if (!insert || !entry.exists()) entry.setValue(StoredForm.value(cache, value));

        return null;
    }

    @Override
    public void writeBinary(BinaryWriter writer) throws BinaryObjectException {
        BinaryRawWriter raw = writer.rawWriter();

        raw.writeBoolean(insert);
        raw.writeByteArray(value);
    }

    @Override
    public void readBinary(BinaryReader reader) throws BinaryObjectException {
        BinaryRawReader raw = reader.rawReader();

        insert = raw.readBoolean();
        value = raw.readByteArray();
    }
}
