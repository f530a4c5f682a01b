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
        return bytes[0] == GridBinaryMarshaller.BINARY_OBJ
                ? Arrays.copyOfRange(bytes, ARRAY_HEAD, bytes.length - WRAPPER_TAIL)
                : bytes;
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
