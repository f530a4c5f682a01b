package ignitekafka.backlog;

import java.nio.ByteBuffer;

/**
 * What the backlog knows of a unit beside its changes. Made for each unit when its capture begins, so that a missing
 * record tells that its partition of the backlog was lost. Changed only by {@link RecordChange}.
 *
 * <p>Little-endian: int64 low and int64 high chunk (every chunk there is lies between; low above high: none yet), int32
 * marks, int32 count of ranges, int64 number of the mark, int64 turn (rises when chunks below the high end are
 * written), then the ranges of numbers sent lately, int64 low and int64 high each.
 */
final class UnitRecord {
    /** The region or a node's buffer was full: changes were given up. */
    static final int FULL = 1;

    /** The cache's counters ran on while nothing captured. */
    static final int MISSED = 2;

    /** The backlog's own partition was lost. */
    static final int LOST = 4;

    /** The user asked to have the unit sent again; 8 is taken by answers. */
    static final int ASKED = 16;

    /** Ranges remembered; a reader's own offsets are the truth, these only spare it repeats from the backups. */
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

    UnitRecord spanning(long from, long to) {
        long above = Math.max(high, to);

        return new UnitRecord(Math.min(low, from), above, marks, markNumber, from < above ? turn + 1 : turn, sent);
    }

    UnitRecord marked(int bits) {
        return new UnitRecord(low, high, marks | bits, markNumber + 1, turn, sent);
    }

    UnitRecord cleared(long number) {
        return number == markNumber ? new UnitRecord(low, high, 0, markNumber, turn, sent) : this;
    }

    /** The low end rises only in the turn in which {@code from} was found: chunks may have come below it since. */
    UnitRecord acknowledged(Ranges ranges, long from, long seenTurn) {
        sent.addAll(ranges);
        sent.keepHighest(RANGES);

        return new UnitRecord(
                seenTurn == turn ? Math.max(low, Math.min(from, high)) : low, high, marks, markNumber, turn, sent);
    }

    boolean spans(long from, long to) {
        return low <= from && to <= high;
    }
}
