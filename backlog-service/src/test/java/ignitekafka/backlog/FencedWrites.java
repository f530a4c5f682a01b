package ignitekafka.backlog;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.cache.CacheObjectContext;

/** Arguments of fenced writes, as sinks encode them; for nodes with a cache "a". */
final class FencedWrites {
    private FencedWrites() {
        // Static methods only.
    }

    /** A token and its slots. */
    static byte[] writer(int generation, int attempt, int... slots) {
        ByteBuffer out = Chunk.buffer(new byte[WriterToken.BYTES + 4 * slots.length]);

        new WriterToken(generation, 0, attempt, 0).write(out);
        Arrays.stream(slots).forEach(out::putInt);

        return out.array();
    }

    /** The entries as {@link BacklogService#write} has them; null removes a key. */
    static byte[] request(Ignite node, Map<?, ?> entries) {
        List<byte[]> keys = new ArrayList<>();
        List<byte[]> values = new ArrayList<>();

        entries.forEach((key, value) -> {
            keys.add(bytes(node, key));
            values.add(value == null ? null : bytes(node, value));
        });

        int size = 4 + 8 * keys.size();

        for (int i = 0; i < keys.size(); i++)
            size += keys.get(i).length + (values.get(i) == null ? 0 : values.get(i).length);

        ByteBuffer out = Chunk.buffer(new byte[size]).putInt(keys.size());

        keys.forEach(key -> out.putInt(key.length));
        values.forEach(value -> out.putInt(value == null ? -1 : value.length));

        for (int i = 0; i < keys.size(); i++) {
            out.put(keys.get(i));

            if (values.get(i) != null) out.put(values.get(i));
        }

        return out.array();
    }

    static byte[] bytes(Ignite node, Object object) {
        try {
            CacheObjectContext objects = ((IgniteEx) node)
                    .context()
                    .cache()
                    .internalCache("a")
                    .context()
                    .cacheObjectContext();

            return ((IgniteEx) node).context().cacheObjects().marshal(objects, object);
        } catch (IgniteCheckedException e) {
            throw new IllegalStateException(e);
        }
    }
}
