package ignitekafka.backlog;

/**
 * Mean size of the chunks of one connector that this node has read. A read requests no more chunks at a time than an
 * answer can hold.
 */
final class ReadSizes {
    /** Weight of the present mean relative to one more chunk. */
    private static final int WEIGHT = 16;

    private double mean;

    synchronized boolean known() {
        return mean > 0;
    }

    /** Adds the size of a chunk to the mean. */
    synchronized void found(int bytes) {
        mean = mean == 0 ? bytes : mean + (bytes - mean) / WEIGHT;
    }

    /** The number of chunks that have about so many bytes; at least one. */
    synchronized int chunks(long bytes) {
        return mean == 0 ? Integer.MAX_VALUE : (int) Math.max(1, Math.min(Integer.MAX_VALUE, bytes / mean));
    }
}
