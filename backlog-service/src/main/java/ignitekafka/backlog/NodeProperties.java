package ignitekafka.backlog;

import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.ignite.IgniteException;

/** System properties or environment variables with which the administrator configures a node. */
final class NodeProperties {
    private final UnaryOperator<String> configured;

    /** Reads values by a function that returns null for a name without one. */
    NodeProperties(UnaryOperator<String> configured) {
        this.configured = configured;
    }

    /** The names of a list that is separated by commas. */
    Set<String> names(String name, String byDefault) {
        String names = configured.apply(name);

        return Arrays.stream((names == null ? byDefault : names).split(","))
                .map(String::trim)
                .filter(one -> !one.isEmpty())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /**
     * A whole number from 1 on.
     *
     * @throws IgniteException The value is not a whole number from 1 to {@code most}; the node then does not start.
     */
    long number(String name, long byDefault, long most) {
        String value = configured.apply(name);

        if (value == null) return byDefault;

        try {
            long number = Long.parseLong(value.trim());

            if (number > 0 && number <= most) return number;
        } catch (NumberFormatException ignored) {
            // Reported below.
        }

        throw new IgniteException(name + " is '" + value + "'; it must be a whole number from 1"
                + (most == Long.MAX_VALUE ? "" : " to " + most));
    }

    /** The same without an upper bound. */
    long number(String name, long byDefault) {
        return number(name, byDefault, Long.MAX_VALUE);
    }
}
