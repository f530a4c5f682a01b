package ignitekafka.backlog;

import java.nio.ByteBuffer;

/**
 * State of a unit in the backlog beside its changes. Created for each unit when its capture begins; a missing record
 * means that the partition of the backlog was lost. Changed only by {@link RecordChange}.
 *
 * <p>Little-endian: int64 low and int64 high chunk (all chunks are in this span; low above high: none yet), int32
 * marks, int32 count of ranges, int64 number of the mark, int64 turn (increases when chunks below the high end are
 * written), then the ranges of recently sent numbers, int64 low and int64 high each.
 */
final class UnitRecord {
    /** Mark: changes were given up, because the region or a node's buffer was full. */
    static final int GIVEN_UP = 1;

    /** Mark: the cache was updated while nothing captured it. */
    static final int MISSED = 2;

    /** Mark: the partition of the backlog cache was lost. */
    static final int LOST = 4;

    /** Mark: a call of {@link BacklogService#mark} requested it. 8 is used in answers only. */
    static final int ASKED = 16;

    /** Maximum number of ranges. They only save a reader repeated changes from backups; its offsets decide. */
    static final int RANGES = 512;

    private static final int HEADER = 40;

    final long low;
    final long high;
    final int marks;
    final long markNumber;
    final long turn;
    final Ranges sent;

    UnitRecord(long low, long high, int marks, long markNumber, long turn, Ranges sent) {
        this.low = low;
        this.high = high;
        this.marks = marks;
        this.markNumber = markNumber;
        this.turn = turn;
        this.sent = sent;
    }

    static UnitRecord empty() {
        return new UnitRecord(Long.MAX_VALUE, -1, 0, 0, 0, new Ranges());
    }

    static UnitRecord decode(byte[] bytes) {
        ByteBuffer in = Chunk.buffer(bytes);
        long low = in.getLong();
        long high = in.getLong();
        int marks = in.getInt();
        int ranges = in.getInt();

        return new UnitRecord(low, high, marks, in.getLong(), in.getLong(), Ranges.read(in, ranges));
    }

    byte[] encode() {
        ByteBuffer out = Chunk.buffer(new byte[HEADER + 16 * sent.count()]);

        out.putLong(low)
                .putLong(high)
                .putInt(marks)
                .putInt(sent.count())
                .putLong(markNumber)
                .putLong(turn);
        sent.write(out);

        return out.array();
    }

    /** Extends the span; increments the turn if this adds or confirms chunks below the high end. */
    UnitRecord spanning(long from, long to) {
        long above = Math.max(high, to);

        return new UnitRecord(Math.min(low, from), above, marks, markNumber, from < above ? turn + 1 : turn, sent);
    }

    UnitRecord marked(int bits) {
        return new UnitRecord(low, high, marks | bits, markNumber + 1, turn, sent);
    }

    /** Removes the marks if the unit was not marked again after this number. */
    UnitRecord cleared(long number) {
        return number == markNumber ? new UnitRecord(low, high, 0, markNumber, turn, sent) : this;
    }

    /** Raises the low end only in the turn in which {@code from} was found; later, chunks may be below it. */
    UnitRecord acknowledged(Ranges ranges, long from, long seenTurn) {
        sent.addAll(ranges);
        sent.keepHighest(RANGES);

        return new UnitRecord(
                seenTurn == turn ? Math.max(low, Math.min(from, high)) : low, high, marks, markNumber, turn, sent);
    }

    /** Whether the record spans the chunks {@code from} to {@code to}. */
    boolean spans(long from, long to) {
        return low <= from && to <= high;
    }
}
