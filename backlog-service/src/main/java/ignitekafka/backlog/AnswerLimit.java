package ignitekafka.backlog;

import java.util.List;

/**
 * Keeps an answer of {@link BacklogService#read} below what one answer may have: the last changes are left out, and
 * come with the next read.
 */
final class AnswerLimit {
    /** Bytes before the columns, of a unit in all its columns, and of a change in all of its. */
    static final long HEADER = 24;

    static final long UNIT = 28;
    static final long CHANGE = 33;

    private long left;
    private boolean empty = true;
    private boolean full;

    private AnswerLimit(long left) {
        this.left = left;
    }

    /**
     * Leaves out what is too much; one change stays, whatever its size. The expired keys of a unit stay together, since
     * they have one stamp.
     */
    static void cut(List<BacklogReader.Found> all) {
        AnswerLimit limit = new AnswerLimit(Limits.bytes() - HEADER - UNIT * all.size());

        all.forEach(limit::cut);
    }

    private void cut(BacklogReader.Found one) {
        int kept = 0;

        while (!full && kept < one.changes.size()) {
            int next = one.changes.get(kept).number < 0 ? one.changes.size() : kept + 1;
            long bytes = one.changes.subList(kept, next).stream()
                    .mapToLong(AnswerLimit::bytes)
                    .sum();

            full = bytes > left && !empty;

            if (!full) {
                left -= bytes;
                kept = next;
                empty = false;
            }
        }

        if (kept == one.changes.size()) return;

        one.changes.subList(kept, one.changes.size()).clear();
        one.stamp = 0;
        one.cut = true;
    }

    private static long bytes(Change change) {
        return CHANGE + PageForm.length(change.key) + PageForm.length(change.value);
    }
}
