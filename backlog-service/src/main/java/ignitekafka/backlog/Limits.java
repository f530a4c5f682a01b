package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.MALFORMED;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;

/**
 * How large one request or answer may be on this node, whatever a caller asks for; and the reading of what it sends.
 */
final class Limits {
    /** An answer is built, and copied into a message, beside what other callers ask for at the same time. */
    private static final int HEAP_SHARE = 16;

    private static final long MOST = 64L << 20;

    private Limits() {
        // Static methods only.
    }

    /**
     * Bytes of one request, and of one answer unless a single element is larger: a sixteenth of this node's heap, at
     * most 64 MiB.
     */
    static int bytes() {
        return (int) Math.min(MOST, Runtime.getRuntime().maxMemory() / HEAP_SHARE);
    }

    /** Checks bytes of a request. */
    static byte[] checked(byte[] bytes) {
        if (bytes == null) throw new BacklogException(MALFORMED, "bytes are missing");

        if (bytes.length > bytes())
            throw new BacklogException(
                    MALFORMED,
                    "a request of " + bytes.length + " bytes; this node takes " + bytes() + " at once (heap / "
                            + HEAP_SHARE + ", at most " + MOST + "): send it in parts");

        return bytes;
    }

    /** Reads elements until the bytes end. */
    static void parse(byte[] bytes, Layout layout) {
        ByteBuffer in = Chunk.buffer(checked(bytes));

        try {
            while (in.hasRemaining()) layout.readOne(in);
        } catch (BufferUnderflowException e) {
            throw new BacklogException(MALFORMED, "bytes end in the midst of an element: " + bytes.length, e);
        }
    }

    /** Reads one element of a request. */
    interface Layout {
        void readOne(ByteBuffer in);
    }
}
