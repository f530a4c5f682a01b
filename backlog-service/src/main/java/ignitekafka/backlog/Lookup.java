package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.MALFORMED;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.cache.CacheObject;
import org.apache.ignite.internal.processors.cache.CacheObjectContext;
import org.apache.ignite.internal.util.typedef.internal.U;

/** Keys as their primary nodes have them: a backup may be behind what was already sent. */
final class Lookup implements NodeJob.Work<HashMap<Integer, byte[]>> {
    private static final long serialVersionUID = 2;

    /** What a primary node answers for a key that the cache has not; no value is that short. */
    private static final byte[] ABSENT = {};

    /** In a node's answer: its values are more than it answers at once, the last keys have not been looked at. */
    private static final int CUT = -1;

    private final String cache;
    private final ArrayList<byte[]> keys;
    private final boolean places;

    private Lookup(String cache, List<byte[]> keys, boolean places) {
        this.cache = cache;
        this.keys = new ArrayList<>(keys);
        this.places = places;
    }

    /** The keys of a request of {@link BacklogService#lookup}. */
    static List<byte[]> keys(byte[] request) {
        List<byte[]> keys = new ArrayList<>();

        Limits.parse(request, in -> {
            int length = in.getInt();

            if (length < 0 || length > in.remaining())
                throw new BacklogException(
                        MALFORMED, "a key of " + length + " bytes, with " + in.remaining() + " left");

            byte[] key = new byte[length];

            in.get(key);
            keys.add(key);
        });

        return keys;
    }

    /** Asks all nodes; the answer is that of {@link BacklogService#lookup}. */
    static byte[] values(GridKernalContext ctx, String cache, List<byte[]> keys) {
        Map<Integer, byte[]> values = new Lookup(cache, keys, false).everywhere(ctx);
        int count = fitting(values, keys.size());
        long bytes = 0;

        for (int i = 0; i < count; i++) bytes += values.get(i).length;

        ByteBuffer out =
                Chunk.buffer(new byte[Math.toIntExact(4 + 4L * count + bytes)]).putInt(count);

        for (int i = 0; i < count; i++) out.putInt(values.get(i).length == 0 ? -1 : values.get(i).length);

        for (int i = 0; i < count; i++) out.put(values.get(i));

        return out.array();
    }

    /** How many values, from the first on, make an answer: as many as the limit lets, at least one. */
    private static int fitting(Map<Integer, byte[]> values, int keys) {
        long bytes = 0;

        for (int i = 0; i < keys; i++) {
            bytes += 4L + (values.containsKey(i) ? values.get(i).length : 0);

            if (!values.containsKey(i) || i > 0 && bytes > Limits.bytes()) return i;
        }

        return keys;
    }

    /** Asks all nodes; the answer is that of {@link BacklogService#locate}. */
    static byte[] places(GridKernalContext ctx, String cache, List<byte[]> keys) {
        Map<Integer, byte[]> places = new Lookup(cache, keys, true).everywhere(ctx);
        ByteBuffer out =
                Chunk.buffer(new byte[Math.toIntExact(4 + 5L * keys.size())]).putInt(keys.size());

        for (int i = 0; i < keys.size(); i++) {
            ByteBuffer place = Chunk.buffer(places.get(i));

            out.putInt(4 + 4 * i, place.getInt()).put(4 + 4 * keys.size() + i, place.get());
        }

        return out.array();
    }

    private Map<Integer, byte[]> everywhere(GridKernalContext ctx) {
        Map<Integer, byte[]> found = new HashMap<>();

        NodeJob.everywhere(ctx, this).forEach(found::putAll);

        if (found.remove(CUT) == null && found.size() < keys.size() || !keys.isEmpty() && !found.containsKey(0))
            throw new BacklogException(
                    BacklogException.Code.UNAVAILABLE, "partitions of cache '" + cache + "' are moving");

        return found;
    }

    /** Position to answer for the keys that this node is primary of, before and after the look. */
    @Override
    public HashMap<Integer, byte[]> run(BacklogPlugin plugin) {
        HashMap<Integer, byte[]> found = new HashMap<>();

        if (plugin.context().cache().internalCache(cache) == null) return found;

        IgniteCache<Object, Object> present =
                plugin.context().grid().cache(cache).withKeepBinary();
        Affinity<Object> affinity = plugin.context().grid().affinity(cache);
        ClusterNode here = plugin.context().grid().cluster().localNode();
        CacheObjectContext objects =
                plugin.context().cache().internalCache(cache).context().cacheObjectContext();

        try {
            long bytes = 0;

            for (int i = 0; i < keys.size(); i++) {
                if (!places && bytes > Limits.bytes()) {
                    found.put(CUT, ABSENT);

                    break;
                }

                Object key = plugin.context().cacheObjects().unmarshal(objects, keys.get(i), null);

                if (!affinity.isPrimary(here, key)) continue;

                Object value = present.localPeek(key, CachePeekMode.PRIMARY);

                if (affinity.isPrimary(here, key)) {
                    byte[] answer = places
                            ? place(affinity.partition(key), value)
                            : value == null ? ABSENT : bytes(objects, value);

                    found.put(i, answer);
                    bytes += answer.length;
                }
            }
        } catch (IgniteCheckedException e) {
            throw U.convertException(e);
        }

        return found;
    }

    /** int32 partition, int8 whether the cache has the key. */
    private static byte[] place(int partition, Object value) {
        return Chunk.buffer(new byte[5])
                .putInt(partition)
                .put((byte) (value == null ? 0 : 1))
                .array();
    }

    /** The bytes that the cache holds, without a copy where the object is made of them. */
    static byte[] bytes(CacheObjectContext objects, Object value) throws IgniteCheckedException {
        return value instanceof CacheObject
                ? ((CacheObject) value).valueBytes(objects)
                : objects.kernalContext().cacheObjects().marshal(objects, value);
    }
}
