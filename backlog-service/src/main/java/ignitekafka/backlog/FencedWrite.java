package ignitekafka.backlog;

import java.util.Collections;
import javax.cache.processor.EntryProcessor;
import javax.cache.processor.MutableEntry;
import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.binary.BinaryRawReader;
import org.apache.ignite.binary.BinaryRawWriter;
import org.apache.ignite.binary.BinaryReader;
import org.apache.ignite.binary.BinaryWriter;
import org.apache.ignite.binary.Binarylizable;
import org.apache.ignite.internal.processors.cache.CacheInvokeEntry;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.GridCacheEntryEx;
import org.apache.ignite.internal.processors.cache.GridCacheEntryRemovedException;
import org.apache.ignite.internal.processors.cache.GridCacheMvccCandidate;
import org.apache.ignite.internal.processors.cache.transactions.IgniteInternalTx;
import org.apache.ignite.internal.processors.cache.transactions.IgniteTxEntry;
import org.apache.ignite.internal.util.typedef.T2;

/**
 * A put or removal of a sink, which its key's primary node executes only while the token of the sink's task is in
 * force. The first argument of the processor is the {@link FencedWriter}. With a second one, a {@link FieldOrder}, a
 * put that is less than the present value leaves it.
 *
 * <p>The token is compared under the lock of the entry. So once a newer token is in memory on every node, an older
 * write either has changed its entry already, and the newer task's write comes after it, or changes nothing: also one
 * that waited in a node, a link or a client for any time. Backups receive the primary's result.
 */
final class FencedWrite implements EntryProcessor<Object, Object, Boolean>, Binarylizable {
    /** Result of a write whose token is not in force; null for one that was executed. */
    static final Boolean REFUSED = false;

    private static final byte UNDECIDED = 0;
    private static final byte ALLOWED = 1;
    private static final byte NOT_ALLOWED = 2;
    private static final byte LESS = 3;

    private boolean insert;

    /** Decision of the primary node of a transaction, for the other copies: they execute the write when they commit. */
    private byte decision;

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

        byte decided = decide(cache, entry, arguments);

        if (decided == NOT_ALLOWED) return REFUSED;

        if (decided == LESS) return null;

        if (value == null) entry.remove();
        else if (!insert || !entry.exists()) entry.setValue(StoredForm.value(cache, value));

        return null;
    }

    private byte decide(GridCacheContext<?, ?> cache, MutableEntry<?, ?> entry, Object[] arguments) {
        if (decision != UNDECIDED && !isPrimary(cache, entry)) return decision;

        byte made = decideAnew(cache, entry, arguments);

        if (!cache.transactional()) return made;

        IgniteTxEntry own = locked(cache, ((CacheInvokeEntry<?, ?>) entry).entry());

        if (own == null) throw new IllegalStateException("a write of a sink is not of a transaction's primary node");

        FencedWrite decided = new FencedWrite(value, insert);

        decided.decision = made;
        own.entryProcessors(
                Collections.singletonList(new T2<>(erased(decided), arguments))); // sent to the other copies

        return made;
    }

    private byte decideAnew(GridCacheContext<?, ?> cache, MutableEntry<?, ?> entry, Object[] arguments) {
        if (!((FencedWriter) arguments[0]).isInForce(BacklogPlugin.of(cache.kernalContext()))) return NOT_ALLOWED;

        if (arguments.length == 1 || !entry.exists()) return ALLOWED;

        FieldOrder order = (FieldOrder) arguments[1];

        return order.compare(StoredForm.value(cache, value), entry.getValue()) < 0 ? LESS : ALLOWED;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static EntryProcessor<Object, Object, Object> erased(FencedWrite write) {
        return (EntryProcessor) write;
    }

    private static boolean isPrimary(GridCacheContext<?, ?> cache, MutableEntry<?, ?> entry) {
        return !cache.transactional() || locked(cache, ((CacheInvokeEntry<?, ?>) entry).entry()) != null;
    }

    /** The entry in the transaction that locks it, on the primary node; null on other nodes. */
    private static IgniteTxEntry locked(GridCacheContext<?, ?> cache, GridCacheEntryEx entry) {
        try {
            for (GridCacheMvccCandidate candidate : entry.localCandidates()) {
                if (!candidate.owner()) continue;

                IgniteInternalTx tx = cache.shared().tm().tx(candidate.version());

                if (tx != null && tx.local()) return tx.entry(entry.txKey());
            }

            return null;
        } catch (GridCacheEntryRemovedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void writeBinary(BinaryWriter writer) throws BinaryObjectException {
        BinaryRawWriter raw = writer.rawWriter();

        raw.writeBoolean(insert);
        raw.writeByte(decision);
        raw.writeByteArray(value);
    }

    @Override
    public void readBinary(BinaryReader reader) throws BinaryObjectException {
        BinaryRawReader raw = reader.rawReader();

        insert = raw.readBoolean();
        decision = raw.readByte();
        value = raw.readByteArray();
    }
}
