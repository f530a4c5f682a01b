package ignitekafka.backlog;

import java.util.List;

/**
 * Keeps an answer of {@link BacklogService#read} below the size limit: removes the last changes, which the next read
 * returns.
 */
final class AnswerLimit {
    private long left;
    private boolean empty = true;
    private boolean full;

    private AnswerLimit(long left) {
        this.left = left;
    }

    /**
     * Removes the changes beyond the limit; one change stays, whatever its size. The expired keys of a unit stay
     * together, because they share one stamp.
     */
    static void cut(List<UnitRead> all) {
        AnswerLimit limit = new AnswerLimit(Limits.bytes() - ReadAnswer.HEADER - ReadAnswer.UNIT * all.size());

        all.forEach(limit::cut);
    }

    private void cut(UnitRead one) {
        int kept = 0;

        while (!full && kept < one.changes.size()) {
            int next = one.changes.get(kept).number < 0 ? one.changes.size() : kept + 1;
            long bytes = one.changes.subList(kept, next).stream()
                    .mapToLong(ReadAnswer::bytes)
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
}
