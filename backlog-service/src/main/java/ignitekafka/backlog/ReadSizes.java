package ignitekafka.backlog;

/**
 * How large the chunks of one connector are, by those that this node has read: a read looks for no more of them at a
 * time than an answer may hold.
 */
final class ReadSizes {
    /** Weight of what was known against one more chunk. */
    private static final int MEMORY = 16;

    private double mean;

    synchronized boolean known() {
        return mean > 0;
    }

    /** A chunk of so many bytes was read. */
    synchronized void found(int bytes) {
        mean = mean == 0 ? bytes : mean + (bytes - mean) / MEMORY;
    }

    /** How many chunks have about so many bytes; at least one. */
    synchronized int chunks(long bytes) {
        return mean == 0 ? Integer.MAX_VALUE : (int) Math.max(1, Math.min(Integer.MAX_VALUE, bytes / mean));
    }
}
