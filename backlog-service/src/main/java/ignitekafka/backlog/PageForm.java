package ignitekafka.backlog;

import java.nio.ByteBuffer;
import org.apache.ignite.internal.binary.GridBinaryMarshaller;

/** Encodes keys and values as a page of a cache scan does, so that the decoder of pages also decodes changes. */
final class PageForm {
    /** Bytes around an object: type code and int32 length before it, int32 offset of its root after it. */
    private static final int WRAPPER = 9;

    private PageForm() {
        // Static functions only.
    }

    /** Bytes that {@link #put} writes. */
    static int length(byte[] value) {
        return value == null ? 1 : isObject(value) ? WRAPPER + value.length : value.length;
    }

    static void put(ByteBuffer out, byte[] value) {
        if (value == null) out.put(GridBinaryMarshaller.NULL);
        else if (isObject(value))
            out.put(GridBinaryMarshaller.BINARY_OBJ)
                    .putInt(value.length)
                    .put(value)
                    .putInt(0);
        else out.put(value);
    }

    private static boolean isObject(byte[] value) {
        return value[0] == GridBinaryMarshaller.OBJ;
    }
}
