package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.MALFORMED;
import static ignitekafka.backlog.BacklogException.Code.UNKNOWN_CACHE;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.cache.processor.EntryProcessorResult;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.internal.processors.cache.DynamicCacheDescriptor;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.IgniteCacheProxy;
import org.apache.ignite.internal.processors.cache.IgniteInternalCache;
import org.apache.ignite.internal.util.typedef.internal.U;

/** Writes of a sink to one cache, from {@link BacklogService#write} or {@link BacklogService#writeGreatest}. */
final class FencedRequest {
    /** Maximum slots of a sink, that of its setting. */
    private static final int MOST_SLOTS = 10_000;

    private final FencedWriter writer;
    private final String cache;
    private final boolean insert;

    /** Order of the values of an entry, of which the greatest remains; null: each write changes its entry. */
    private final FieldOrder order;

    FencedRequest(String sink, byte[] writer, String cache, boolean insert) {
        this.writer = writer(sink, writer);
        this.cache = cache;
        this.insert = insert;
        order = null;
    }

    FencedRequest(String sink, byte[] writer, String cache, String field) {
        if (field == null || field.isEmpty()) throw new BacklogException(MALFORMED, "the name of a field is missing");

        this.writer = writer(sink, writer);
        this.cache = cache;
        insert = false;
        order = new FieldOrder(field);
    }

    private static FencedWriter writer(String sink, byte[] bytes) {
        ByteBuffer in = Chunk.buffer(Limits.requireSize(bytes));

        SinkFences.requireName(sink);

        if (bytes.length <= WriterToken.BYTES)
            throw new BacklogException(MALFORMED, "a write needs a token and at least one slot");

        WriterToken token = WriterToken.read(in);

        return new FencedWriter(sink, slots(in), token);
    }

    /** Reads int32 slots up to the end. */
    static int[] slots(ByteBuffer in) {
        if (in.remaining() % Integer.BYTES != 0 || in.remaining() > MOST_SLOTS * Integer.BYTES)
            throw new BacklogException(
                    MALFORMED,
                    "slots have " + in.remaining() + " bytes; they have four each, and are at most " + MOST_SLOTS);

        int[] slots = new int[in.remaining() / Integer.BYTES];

        for (int i = 0; i < slots.length; i++) slots[i] = in.getInt();

        return slots;
    }

    /**
     * Writes the entries, in the order of the request.
     *
     * @throws BacklogException The token was not in force when some entry was to be changed; others may be.
     */
    void execute(BacklogPlugin plugin, byte[] entries) {
        DynamicCacheDescriptor known = plugin.context().cache().cacheDescriptor(cache);

        if (known == null || !known.cacheType().userCache())
            throw new BacklogException(UNKNOWN_CACHE, "there is no cache '" + cache + '\'');

        try {
            // Starts a client of the cache on a node that the cache's filter leaves out.
            IgniteCacheProxy<Object, Object> proxy = plugin.context().cache().publicJCache(cache);
            IgniteInternalCache<Object, Object> target = proxy.internalProxy().keepBinary();
            Object[] arguments = order == null ? new Object[] {writer} : new Object[] {writer, order};
            Map<Object, EntryProcessorResult<Boolean>> refused =
                    target.invokeAll(parse(proxy.context(), entries), arguments);

            if (refused != null
                    && refused.values().stream().anyMatch(result -> FencedWrite.REFUSED.equals(result.get())))
                throw writer.refused(plugin);
        } catch (IgniteCheckedException e) {
            throw U.convertException(e);
        }
    }

    /** Parses int32 N, int32[N] length of key, int32[N] length of value (-1: removal), then key and value of each. */
    private Map<Object, FencedWrite> parse(GridCacheContext<?, ?> context, byte[] entries) {
        ByteBuffer in = Chunk.buffer(Limits.requireSize(entries));

        try {
            int count = in.getInt();

            if (count < 0 || count > in.remaining() / (2 * Integer.BYTES))
                throw new BacklogException(
                        MALFORMED, "a request of " + entries.length + " bytes has no " + count + " entries");

            ByteBuffer lengths = in.duplicate().order(in.order());
            Map<Object, FencedWrite> writes = new LinkedHashMap<>(2 * count);

            in.position(in.position() + 2 * Integer.BYTES * count);

            int values = Integer.BYTES * (1 + count);

            for (int i = 0; i < count; i++) {
                byte[] key = next(in, lengths.getInt(Integer.BYTES * (1 + i)));
                int length = lengths.getInt(values + Integer.BYTES * i);

                if (order != null && length == -1)
                    throw new BacklogException(MALFORMED, "entry " + i + " is removed: a removal has no field");

                if (key.length == 0) throw new BacklogException(MALFORMED, "entry " + i + " has no key");

                StoredForm.require(key, i);

                byte[] value = length == -1 ? null : valueOf(in, length, i);

                if (order != null) order.require(StoredForm.value(context, value), i);

                writes.put(StoredForm.key(context, key), new FencedWrite(value, insert));
            }

            if (in.hasRemaining())
                throw new BacklogException(
                        MALFORMED, in.remaining() + " bytes follow the last of " + count + " entries");

            return writes;
        } catch (BufferUnderflowException e) {
            throw new BacklogException(MALFORMED, "a request of " + entries.length + " bytes ends within an entry", e);
        }
    }

    private static byte[] valueOf(ByteBuffer in, int length, int row) {
        byte[] value = next(in, length);

        if (value.length == 0) throw new BacklogException(MALFORMED, "entry " + row + " has an empty value");

        StoredForm.require(value, row);

        return value;
    }

    private static byte[] next(ByteBuffer in, int length) {
        if (length < 0 || length > in.remaining())
            throw new BacklogException(
                    MALFORMED, "a key or value has the length " + length + ", with " + in.remaining() + " bytes left");

        byte[] bytes = new byte[length];

        in.get(bytes);

        return bytes;
    }
}
