package ignitekafka.backlog;

import java.util.Comparator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Bounds the heap that the buffers of all captures use on this node. */
final class HeapBudget {
    private final long maxBytes;
    private final Set<CaptureBuffer> buffers = ConcurrentHashMap.newKeySet();

    HeapBudget(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    void add(CaptureBuffer buffer) {
        buffers.add(buffer);
    }

    void remove(CaptureBuffer buffer) {
        buffers.remove(buffer);
    }

    boolean isExceeded() {
        long bytes = 0;

        for (CaptureBuffer buffer : buffers) bytes += buffer.bytes();

        return bytes > maxBytes;
    }

    /** Gives up units until the buffers are within the bound, each time of the capture that uses the most. */
    synchronized void relieve() {
        while (isExceeded()) {
            CaptureBuffer largest = buffers.stream()
                    .filter(buffer -> !buffer.dirty().isEmpty())
                    .max(Comparator.comparingLong(CaptureBuffer::bytes))
                    .orElse(null);

            if (largest == null) return; // the rest is being written

            largest.giveUpLargest("the buffers of all captures on this node use more than " + maxBytes + " bytes ("
                    + CaptureLimits.HEAP_BYTES + ')');
        }
    }
}
