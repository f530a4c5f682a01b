package ignitekafka.backlog;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.ToLongFunction;
import org.apache.ignite.IgniteException;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.internal.processors.cache.CacheObject;
import org.apache.ignite.internal.processors.cache.CacheObjectContext;

/**
 * The rule of a cache that decides before the order of writes: the write whose value has the greater number stays. The
 * number is a field of the value, or what a class of the administrator returns for it.
 *
 * <p>A rank is the number plus 2^56, between 1 and 2^57 - 1; numbers beyond count as the nearest of these. It is 0 for
 * a value without a number. A removal has the rank of the value that it removed, so it is above all that it has seen.
 */
final class WriteRank {
    /** Bits of a rank: what {@link EntryVersion} has for that of a removal. */
    static final int BITS = 57;

    /** The rank of what has no number. */
    static final long NONE = 0;

    /** The rule of a cache without one: all writes are equal, and their order decides. */
    static final WriteRank OF_ALL = new WriteRank("", value -> null);

    private static final long ZERO = 1L << BITS - 1;

    /** Text that is equal for equal rules; empty without a rule. */
    final String rule;

    private final Numbers numbers;
    private final AtomicBoolean failed = new AtomicBoolean();

    private WriteRank(String rule, Numbers numbers) {
        this.rule = rule;
        this.numbers = numbers;
    }

    /** The rule of a field, as {@link FieldOrder} reads it. */
    static WriteRank ofField(String field) {
        return new WriteRank("field " + field, value -> FieldOrder.numberOf(value, field));
    }

    /**
     * The rule of a class with a constructor without parameters.
     *
     * @throws IgniteException There is no such class, or it is no function; the node then does not start.
     */
    static WriteRank ofClass(String name) {
        try {
            Object function = Class.forName(name, true, WriteRank.class.getClassLoader())
                    .getDeclaredConstructor()
                    .newInstance();

            if (!(function instanceof ToLongFunction))
                throw new IgniteException("it does not implement ToLongFunction");

            @SuppressWarnings("unchecked")
            ToLongFunction<Object> numbers = (ToLongFunction<Object>) function;

            return new WriteRank("class " + name, numbers::applyAsLong);
        } catch (ReflectiveOperationException | LinkageError | RuntimeException e) {
            throw new IgniteException(
                    ActiveActive.RANKS + " names class " + name + ", which cannot be used: " + e
                            + ". Put it on the class path of every server node: public, with a constructor without"
                            + " parameters, and a java.util.function.ToLongFunction<Object>",
                    e);
        }
    }

    /** Whether there is a rule. */
    boolean isGiven() {
        return !rule.isEmpty();
    }

    /** The rank of a stored value, without its class. */
    long of(CacheObject value, CacheObjectContext objects, IgniteLogger log) {
        if (!isGiven()) return NONE;

        return of(value instanceof BinaryObject ? value : value.value(objects, false), log);
    }

    /** The rank of a value: a binary object, or an instance of one of Java's own classes. */
    long of(Object value, IgniteLogger log) {
        if (!isGiven()) return NONE;

        Long number;

        try {
            number = numbers.of(value);
        } catch (RuntimeException e) { // of the administrator's class; each value must have a rank
            if (failed.compareAndSet(false, true))
                log.warning("The rule '" + rule + "' failed for a value, which then has the lowest rank of all", e);

            return NONE;
        }

        return number == null ? NONE : ZERO + Math.max(1 - ZERO, Math.min(number, ZERO - 1));
    }

    /** Returns the number of a value, or null for none. */
    private interface Numbers {
        Long of(Object value);
    }
}
