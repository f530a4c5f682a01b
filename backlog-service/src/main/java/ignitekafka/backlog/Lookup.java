package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.MALFORMED;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.cache.CachePeekMode;
import org.apache.ignite.cache.affinity.Affinity;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.internal.GridKernalContext;
import org.apache.ignite.internal.processors.cache.CacheObject;
import org.apache.ignite.internal.processors.cache.CacheObjectContext;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.KeyCacheObject;
import org.apache.ignite.internal.processors.cache.persistence.CacheDataRow;
import org.apache.ignite.internal.util.typedef.internal.U;

/** Reads keys from their primary nodes; a backup may be behind changes that were already sent. */
final class Lookup implements NodeJob.Work<HashMap<Integer, byte[]>> {
    private static final long serialVersionUID = 2;

    /** Answer of a node for a key that is not in the cache; no value is empty. */
    private static final byte[] ABSENT = {};

    /** Key in a node's answer: the answer reached its size limit, and the last keys were not read. */
    private static final int CUT = -1;

    private final String cache;
    private final ArrayList<byte[]> keys;
    private final boolean places; // part of the format between nodes
    private final boolean versions;

    private Lookup(String cache, List<byte[]> keys, boolean places, boolean versions) {
        this.cache = cache;
        this.keys = new ArrayList<>(keys);
        this.places = places;
        this.versions = versions;
    }

    /** Parses the keys of a request of {@link BacklogService#lookup}. */
    static List<byte[]> keys(byte[] request) {
        List<byte[]> keys = new ArrayList<>();

        Limits.parse(request, in -> {
            int length = in.getInt();

            if (length < 0 || length > in.remaining())
                throw new BacklogException(
                        MALFORMED, "a key has the length " + length + ", with " + in.remaining() + " bytes left");

            byte[] key = new byte[length];

            in.get(key);
            keys.add(key);
        });

        return keys;
    }

    /** Reads from all nodes; returns the answer of {@link BacklogService#lookup}. */
    static byte[] values(GridKernalContext ctx, String cache, List<byte[]> keys) {
        Map<Integer, byte[]> values = new Lookup(cache, keys, false, false).onAllNodes(ctx);
        int count = fitting(values, keys.size());
        long bytes = 0;

        for (int i = 0; i < count; i++) bytes += values.get(i).length;

        ByteBuffer out =
                Chunk.buffer(new byte[Math.toIntExact(4 + 4L * count + bytes)]).putInt(count);

        for (int i = 0; i < count; i++) out.putInt(values.get(i).length == 0 ? -1 : values.get(i).length);

        for (int i = 0; i < count; i++) out.put(values.get(i));

        return out.array();
    }

    /** Reads from all nodes; returns the answer of {@link BacklogService#entries}. */
    static byte[] entries(GridKernalContext ctx, String cache, List<byte[]> keys) {
        Map<Integer, byte[]> entries = new Lookup(cache, keys, false, true).onAllNodes(ctx);
        int count = fitting(entries, keys.size());
        long bytes = 0;

        for (int i = 0; i < count; i++) bytes += entries.get(i).length - EntryVersion.BYTES;

        ByteBuffer out = Chunk.buffer(new byte[Math.toIntExact(4 + (4L + EntryVersion.BYTES) * count + bytes)])
                .putInt(count);

        for (int i = 0; i < count; i++) out.putLong(EntryVersion.read(Chunk.buffer(entries.get(i))).rank);

        for (int i = 0; i < count; i++) out.putLong(EntryVersion.read(Chunk.buffer(entries.get(i))).order);

        for (int i = 0; i < count; i++) {
            int length = entries.get(i).length - EntryVersion.BYTES;

            out.putInt(length == 0 ? -1 : length);
        }

        for (int i = 0; i < count; i++) out.put(EntryVersion.read(Chunk.buffer(entries.get(i))).cluster);

        for (int i = 0; i < count; i++)
            out.put(entries.get(i), EntryVersion.BYTES, entries.get(i).length - EntryVersion.BYTES);

        return out.array();
    }

    /** The number of values, from the first on, that fit into an answer; at least one. */
    private static int fitting(Map<Integer, byte[]> values, int keys) {
        long bytes = 0;

        for (int i = 0; i < keys; i++) {
            bytes += 4L + (values.containsKey(i) ? values.get(i).length : 0);

            if (!values.containsKey(i) || i > 0 && bytes > Limits.bytes()) return i;
        }

        return keys;
    }

    /** Reads from all nodes; returns the answer of {@link BacklogService#locate}. */
    static byte[] locations(GridKernalContext ctx, String cache, List<byte[]> keys) {
        Map<Integer, byte[]> locations = new Lookup(cache, keys, true, false).onAllNodes(ctx);
        ByteBuffer out =
                Chunk.buffer(new byte[Math.toIntExact(4 + 5L * keys.size())]).putInt(keys.size());

        for (int i = 0; i < keys.size(); i++) {
            ByteBuffer location = Chunk.buffer(locations.get(i));

            out.putInt(4 + 4 * i, location.getInt()).put(4 + 4 * keys.size() + i, location.get());
        }

        return out.array();
    }

    private Map<Integer, byte[]> onAllNodes(GridKernalContext ctx) {
        Map<Integer, byte[]> found = new HashMap<>();

        NodeJob.broadcast(ctx, this).forEach(found::putAll);

        if (found.remove(CUT) == null && found.size() < keys.size() || !keys.isEmpty() && !found.containsKey(0))
            throw new BacklogException(
                    BacklogException.Code.UNAVAILABLE, "partitions of cache '" + cache + "' are moving");

        return found;
    }

    /** Answers by index of the key, for keys that this node is primary of before and after the read. */
    @Override
    public HashMap<Integer, byte[]> run(BacklogPlugin plugin) {
        HashMap<Integer, byte[]> found = new HashMap<>();

        if (plugin.context().cache().internalCache(cache) == null) return found;

        try {
            long bytes = 0;

            for (int i = 0; i < keys.size(); i++) {
                if (!places && bytes > Limits.bytes()) {
                    found.put(CUT, ABSENT);

                    break;
                }

                byte[] answer = answer(plugin.context(), keys.get(i));

                if (answer != null) {
                    found.put(i, answer);
                    bytes += answer.length;
                }
            }
        } catch (IgniteCheckedException e) {
            throw U.convertException(e);
        }

        return found;
    }

    /** The answer for a key, or null if this node is not its primary. */
    private byte[] answer(GridKernalContext ctx, byte[] bytes) throws IgniteCheckedException {
        CacheObjectContext objects = ctx.cache().internalCache(cache).context().cacheObjectContext();
        Affinity<Object> affinity = ctx.grid().affinity(cache);
        ClusterNode here = ctx.grid().cluster().localNode();
        Object key = ctx.cacheObjects().unmarshal(objects, bytes, null);

        if (!affinity.isPrimary(here, key)) return null;

        if (versions) {
            byte[] entry = entry(ctx, bytes);

            return affinity.isPrimary(here, key) ? entry : null;
        }

        Object value = ctx.grid().cache(cache).withKeepBinary().localPeek(key, CachePeekMode.PRIMARY);

        if (!affinity.isPrimary(here, key)) return null;

        if (places) return location(affinity.partition(key), value);

        return value == null ? ABSENT : bytes(objects, value);
    }

    /** The {@link EntryVersion} of the entry or its removal, then the value; without one if the key is absent. */
    private byte[] entry(GridKernalContext ctx, byte[] bytes) throws IgniteCheckedException {
        GridCacheContext<?, ?> owned = ctx.cache().internalCache(cache).context();

        if (owned.isNear()) owned = owned.near().dht().context();

        KeyCacheObject key = StoredForm.key(owned, bytes);
        SharedCache shared = BacklogPlugin.of(ctx).shared().get(cache);
        CacheDataRow row = SharedCache.row(ctx, owned, key);
        EntryVersion version =
                shared == null ? null : row == null ? shared.removed(key) : shared.version(row.value(), row.version());
        byte[] value = row == null ? ABSENT : row.value().valueBytes(owned.cacheObjectContext());
        ByteBuffer out = Chunk.buffer(new byte[EntryVersion.BYTES + value.length]);

        (version == null ? EntryVersion.NONE : version).write(out);

        return out.put(value).array();
    }

    /** int32 partition, int8 1 if the cache has the key, else 0. */
    private static byte[] location(int partition, Object value) {
        return Chunk.buffer(new byte[5])
                .putInt(partition)
                .put((byte) (value == null ? 0 : 1))
                .array();
    }

    /** The binary form of an object; without a copy if the object holds it. */
    static byte[] bytes(CacheObjectContext objects, Object value) throws IgniteCheckedException {
        return value instanceof CacheObject
                ? ((CacheObject) value).valueBytes(objects)
                : objects.kernalContext().cacheObjects().marshal(objects, value);
    }
}
