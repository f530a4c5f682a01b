package ignitekafka.backlog;

import java.sql.Timestamp;
import java.util.Comparator;
import java.util.Date;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.binary.BinaryReader;
import org.apache.ignite.binary.BinaryWriter;
import org.apache.ignite.binary.Binarylizable;

/**
 * Order of values by one of their fields: whole numbers as they are, dates and timestamps by their microseconds since
 * 1970. An entry without such a field, which an application put, is less than any value that has it.
 *
 * <p>A class of its own, so that a node with an older jar, which would not compare, fails to read the request.
 */
final class FieldOrder implements Comparator<Object>, Binarylizable {
    private static final Comparator<Long> NONE_FIRST = Comparator.nullsFirst(Comparator.naturalOrder());
    private static final long MOST_MS = Long.MAX_VALUE / 1000 - 1;

    private String field;

    /** For Ignite's marshaller. */
    FieldOrder() {
        // The field is read from bytes.
    }

    FieldOrder(String field) {
        this.field = field;
    }

    @Override
    public int compare(Object first, Object second) {
        return NONE_FIRST.compare(numberOf(first, field), numberOf(second, field));
    }

    /**
     * Refuses a value without a number: it would be stored as the least of all. The sink found one, but a node may have
     * a mapper of names that regards case.
     *
     * @throws BacklogException The value has no number.
     */
    void require(Object value, int row) {
        if (numberOf(value, field) == null)
            throw new BacklogException(
                    BacklogException.Code.MALFORMED,
                    "entry " + row + " has no whole number, date or timestamp in field '" + field
                            + "' of its value, as this node reads it");
    }

    /** The number of a value's field that is compared; null for a value without one. */
    static Long numberOf(Object value, String field) {
        Object found = value instanceof BinaryObject ? ((BinaryObject) value).field(field) : null;

        if (found instanceof Long || found instanceof Integer || found instanceof Short || found instanceof Byte)
            return ((Number) found).longValue();

        return found instanceof Date ? micros((Date) found) : null;
    }

    private static long micros(Date date) {
        long ms = Math.max(-MOST_MS, Math.min(date.getTime(), MOST_MS));

        return ms * 1000 + (date instanceof Timestamp ? ((Timestamp) date).getNanos() / 1000 % 1000 : 0);
    }

    @Override
    public void writeBinary(BinaryWriter writer) throws BinaryObjectException {
        writer.rawWriter().writeString(field);
    }

    @Override
    public void readBinary(BinaryReader reader) throws BinaryObjectException {
        field = reader.rawReader().readString();
    }
}
