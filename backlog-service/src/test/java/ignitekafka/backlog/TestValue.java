package ignitekafka.backlog;

import java.util.function.ToLongFunction;
import org.apache.ignite.Ignite;
import org.apache.ignite.binary.BinaryObject;

/** Values with a text and a number that decides between clusters. */
final class TestValue {
    static final String FIELD = "number";

    private TestValue() {
        // Static functions only.
    }

    static BinaryObject of(Ignite node, String text, int number) {
        return node.binary()
                .builder("TestValue")
                .setField("text", text)
                .setField(FIELD, number)
                .build();
    }

    static String text(Object value) {
        return value instanceof BinaryObject ? ((BinaryObject) value).field("text") : (String) value;
    }

    /** The number of a value; null for a text. */
    static Integer number(Object value) {
        return value instanceof BinaryObject ? ((BinaryObject) value).field(FIELD) : null;
    }

    /** An administrator's own rule; it fails for a text. */
    public static final class Rank implements ToLongFunction<Object> {
        /** Called by the node. */
        public Rank() {
            // Has no fields.
        }

        @Override
        public long applyAsLong(Object value) {
            return number(value);
        }
    }
}
