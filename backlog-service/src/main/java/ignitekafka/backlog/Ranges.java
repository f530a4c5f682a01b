package ignitekafka.backlog;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.TreeMap;

/** Closed ranges of numbers, disjoint and ascending; adjacent ranges are merged. Encoded as int64 low, int64 high. */
final class Ranges {
    private final TreeMap<Long, Long> highByLow = new TreeMap<>();

    static Ranges read(ByteBuffer in, int count) {
        Ranges ranges = new Ranges();

        for (int i = 0; i < count; i++) ranges.add(in.getLong(), in.getLong());

        return ranges;
    }

    void write(ByteBuffer out) {
        highByLow.forEach((low, high) -> out.putLong(low).putLong(high));
    }

    void add(long low, long high) {
        Map.Entry<Long, Long> at = highByLow.floorEntry(low);

        if (at != null && at.getValue() >= low - 1) {
            low = at.getKey();
            high = Math.max(high, at.getValue());
        }

        for (at = highByLow.ceilingEntry(low);
                at != null && at.getKey() <= high + 1;
                at = highByLow.ceilingEntry(low)) {
            high = Math.max(high, at.getValue());
            highByLow.remove(at.getKey());
        }

        highByLow.put(low, high);
    }

    void addAll(Ranges other) {
        other.highByLow.forEach(this::add);
    }

    /** Keeps at most so many ranges, the highest ones. */
    void keepHighest(int count) {
        while (highByLow.size() > count) highByLow.pollFirstEntry();
    }

    boolean contains(long number) {
        Map.Entry<Long, Long> at = highByLow.floorEntry(number);

        return at != null && at.getValue() >= number;
    }

    /** Count of the numbers from {@code low} to {@code high} that the ranges contain. */
    long within(long low, long high) {
        Long from = highByLow.floorKey(low);
        long count = 0;

        for (Map.Entry<Long, Long> range :
                highByLow.subMap(from == null ? low : from, true, high, true).entrySet())
            count += Math.max(0, Math.min(high, range.getValue()) - Math.max(low, range.getKey()) + 1);

        return count;
    }

    /** The highest number, or -1. */
    long last() {
        return highByLow.isEmpty() ? -1 : highByLow.lastEntry().getValue();
    }

    int count() {
        return highByLow.size();
    }

    Iterable<Map.Entry<Long, Long>> each() {
        return highByLow.entrySet();
    }
}
