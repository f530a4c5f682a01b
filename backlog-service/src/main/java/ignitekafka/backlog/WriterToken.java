package ignitekafka.backlog;

import java.nio.ByteBuffer;

/**
 * Place of a sink's task among all tasks that ever owned a slot; a later owner compares as greater. Ordered by the
 * generation of the run, then epoch and attempt of the task, then turn: a task takes a new turn when a request of its
 * own got no answer. Encoded in 16 bytes: four int32.
 */
final class WriterToken implements Comparable<WriterToken> {
    static final int BYTES = 16;

    final int generation;
    private final int epoch;
    private final int attempt;
    private final int turn;

    WriterToken(int generation, int epoch, int attempt, int turn) {
        this.generation = generation;
        this.epoch = epoch;
        this.attempt = attempt;
        this.turn = turn;
    }

    /** The first token of a run, in force for slots that no task has taken yet. */
    static WriterToken first(int generation) {
        return new WriterToken(generation, 0, 0, 0);
    }

    static WriterToken read(ByteBuffer in) {
        return new WriterToken(in.getInt(), in.getInt(), in.getInt(), in.getInt());
    }

    void write(ByteBuffer out) {
        out.putInt(generation).putInt(epoch).putInt(attempt).putInt(turn);
    }

    @Override
    public int compareTo(WriterToken other) {
        int order = Integer.compare(generation, other.generation);

        if (order == 0) order = Integer.compare(epoch, other.epoch);

        if (order == 0) order = Integer.compare(attempt, other.attempt);

        return order == 0 ? Integer.compare(turn, other.turn) : order;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof WriterToken && compareTo((WriterToken) other) == 0;
    }

    @Override
    public int hashCode() {
        return 31 * (31 * (31 * generation + epoch) + attempt) + turn;
    }

    @Override
    public String toString() {
        return "generation " + generation + ", epoch " + epoch + ", attempt " + attempt + ", turn " + turn;
    }
}
