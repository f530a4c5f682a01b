package ignitekafka.backlog;

import java.util.Arrays;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.internal.binary.BinaryReaderExImpl;
import org.apache.ignite.internal.binary.GridBinaryMarshaller;
import org.apache.ignite.internal.binary.streams.BinaryHeapInputStream;
import org.apache.ignite.internal.processors.cache.CacheObject;
import org.apache.ignite.internal.processors.cache.CacheObjectContext;
import org.apache.ignite.internal.processors.cache.GridCacheContext;
import org.apache.ignite.internal.processors.cache.KeyCacheObject;
import org.apache.ignite.internal.processors.cache.binary.CacheObjectBinaryProcessorImpl;
import org.apache.ignite.internal.util.typedef.internal.U;

/**
 * Keys and values from their binary form, as a cache stores them. Bytes stay as they are, as in a put by a thin client
 * (PlatformUtils.readCacheObject): nothing is turned into an object of its class, so nodes need no classes.
 */
final class StoredForm {
    private static final int ARRAY_HEAD = 5; // type and length
    private static final int WRAPPER_TAIL = 4; // offset of the object

    private StoredForm() {
        // Static methods only.
    }

    /** The value of an entry. */
    static CacheObject value(GridCacheContext<?, ?> cache, byte[] given) {
        CacheObjectContext objects = cache.cacheObjectContext();
        byte[] bytes = unwrapped(given);

        switch (bytes[0]) {
            case GridBinaryMarshaller.OBJ:
                return objects.kernalContext().cacheObjects().toCacheObject(objects, CacheObject.TYPE_BINARY, bytes);

            case GridBinaryMarshaller.BYTE_ARR:
                return objects.kernalContext()
                        .cacheObjects()
                        .toCacheObject(
                                objects,
                                CacheObject.TYPE_BYTE_ARR,
                                Arrays.copyOfRange(bytes, ARRAY_HEAD, bytes.length));

            case GridBinaryMarshaller.ENUM:
            case GridBinaryMarshaller.BINARY_ENUM:
                return cache.toCacheObject(object(objects, bytes));

            default:
                return objects.kernalContext().cacheObjects().toCacheObject(objects, CacheObject.TYPE_REGULAR, bytes);
        }
    }

    /** The key of an entry. */
    static KeyCacheObject key(GridCacheContext<?, ?> cache, byte[] given) {
        CacheObjectContext objects = cache.cacheObjectContext();
        byte[] bytes = unwrapped(given);

        try {
            switch (bytes[0]) {
                case GridBinaryMarshaller.OBJ:
                    return objects.kernalContext()
                            .cacheObjects()
                            .toKeyCacheObject(objects, CacheObject.TYPE_BINARY, bytes);

                case GridBinaryMarshaller.ENUM:
                case GridBinaryMarshaller.BINARY_ENUM:
                    return cache.toCacheKeyObject(object(objects, bytes));

                default:
                    return objects.kernalContext()
                            .cacheObjects()
                            .toKeyCacheObject(objects, CacheObject.TYPE_REGULAR, bytes);
            }
        } catch (IgniteCheckedException e) {
            throw U.convertException(e);
        }
    }

    /** The object within a wrapper (type, length, object, offset), as Java's clients send it. */
    private static byte[] unwrapped(byte[] bytes) {
        if (bytes[0] == GridBinaryMarshaller.BINARY_OBJ && bytes.length > ARRAY_HEAD + WRAPPER_TAIL)
            return Arrays.copyOfRange(bytes, ARRAY_HEAD, bytes.length - WRAPPER_TAIL);

        return bytes;
    }

    /** Refuses bytes that no put of a client could store, and that would break each read of the cache. */
    static void require(byte[] given, int row) {
        byte[] bytes = unwrapped(given);
        byte type = bytes[0];

        if (type == GridBinaryMarshaller.OBJ
                ? !isWhole(bytes)
                : type == GridBinaryMarshaller.NULL || type == GridBinaryMarshaller.HANDLE || !isKnown(type))
            throw new BacklogException(
                    BacklogException.Code.MALFORMED,
                    "entry " + row + " has a key or value of type " + type + " that is none, or not whole");
    }

    private static boolean isWhole(byte[] object) {
        return object.length >= GridBinaryMarshaller.DFLT_HDR_LEN
                && Chunk.buffer(object).getInt(GridBinaryMarshaller.TOTAL_LEN_POS) == object.length;
    }

    /** Whether a type code is one of those that Ignite's format has for a value. */
    private static boolean isKnown(byte type) {
        return type > 0 && type <= GridBinaryMarshaller.BINARY_ENUM && type != GridBinaryMarshaller.BINARY_OBJ
                || type == GridBinaryMarshaller.OPTM_MARSH;
    }

    /** An enum, as an object that needs no class. */
    private static Object object(CacheObjectContext objects, byte[] bytes) {
        CacheObjectBinaryProcessorImpl processor =
                (CacheObjectBinaryProcessorImpl) objects.kernalContext().cacheObjects();

        return new BinaryReaderExImpl(
                        processor.binaryContext(),
                        BinaryHeapInputStream.create(bytes, 0),
                        U.resolveClassLoader(objects.kernalContext().config()),
                        true)
                .readObjectDetached();
    }
}
