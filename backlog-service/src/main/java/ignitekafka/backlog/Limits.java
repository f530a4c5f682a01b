package ignitekafka.backlog;

import static ignitekafka.backlog.BacklogException.Code.MALFORMED;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;

/** Limits the size of requests and answers on this node, and parses requests. */
final class Limits {
    /** Fraction of the heap: an answer is copied into a message, while other calls run at the same time. */
    private static final int HEAP_SHARE = 16;

    private static final long MAX_BYTES = 64L << 20;

    private Limits() {
        // Static methods only.
    }

    /** Maximum bytes of a request, and of an answer with more than one element: heap / 16, at most 64 MiB. */
    static int bytes() {
        return (int) Math.min(MAX_BYTES, Runtime.getRuntime().maxMemory() / HEAP_SHARE);
    }

    /** Returns the bytes of a request if they are within the limit. */
    static byte[] requireSize(byte[] bytes) {
        if (bytes == null) throw new BacklogException(MALFORMED, "bytes are missing");

        if (bytes.length > bytes())
            throw new BacklogException(
                    MALFORMED,
                    "the request has " + bytes.length + " bytes; this node accepts " + bytes() + " (heap / "
                            + HEAP_SHARE + ", at most " + MAX_BYTES + "); send it in parts");

        return bytes;
    }

    /** Parses elements until the end of the bytes. */
    static void parse(byte[] bytes, Layout layout) {
        ByteBuffer in = Chunk.buffer(requireSize(bytes));

        try {
            while (in.hasRemaining()) layout.readOne(in);
        } catch (BufferUnderflowException e) {
            throw new BacklogException(
                    MALFORMED, "the last element is incomplete, after " + bytes.length + " bytes", e);
        }
    }

    /** Parses one element of a request. */
    interface Layout {
        void readOne(ByteBuffer in);
    }
}
