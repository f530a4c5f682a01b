import java.math.BigDecimal;
import java.sql.Timestamp;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectBuilder;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;

/**
 * Writes keys of many types, and objects whose fields are set in several orders, through one node. Usage: WriteKeys
 * host:port cache suffix first count. The types are {@code Order<suffix>}, {@code Place<suffix>} and
 * {@code Color<suffix>}; keys are numbered from first, and the values are their numbers.
 */
public class WriteKeys {
    static IgniteClient client;
    static String suffix;

    public static void main(String[] args) {
        suffix = args[2];
        try (IgniteClient connected = Ignition.startClient(new ClientConfiguration().setAddresses(args[0]))) {
            client = connected;
            client.binary().registerEnum("Color" + suffix, colors());
            ClientCache<Object, Object> cache = client.getOrCreateCache(args[1]);
            int first = Integer.parseInt(args[3]);
            for (int n = first; n < first + Integer.parseInt(args[4]); n++)
                for (Object key : keys(n)) cache.put(key, n);
        }
    }

    static Map<String, Integer> colors() {
        Map<String, Integer> values = new LinkedHashMap<>();
        for (String name : Arrays.asList("RED", "GREEN", "BLUE")) values.put(name, values.size());
        return values;
    }

    static List<Object> keys(int n) {
        return Arrays.asList(
                n,
                (long) n << 33,
                "text " + n,
                new UUID(n, ~n),
                n + 0.1f,
                n / 7.0,
                BigDecimal.valueOf(n * 100L + 5, n % 4),
                new Date(n * 86_400_001L),
                new Timestamp(n * 1_000L + 7),
                client.binary().buildEnum("Color" + suffix, n % 3),
                object("Order", n, "id", "shop", "price"),
                object("Order", n, "shop", "price", "id"),
                object("Order", n, "zone", "at", "color", "id", "place"),
                object("Order", n, "place", "nothing", "id", "many"),
                object("Order", n, "extra" + n / 100, "id"));
    }

    /** An object with these fields, set in this order. */
    static BinaryObject object(String type, int n, String... names) {
        BinaryObjectBuilder builder = client.binary().builder(type + suffix);
        for (String name : names)
            switch (name) {
                case "price" -> builder.setField(name, BigDecimal.valueOf(n, n % 3), BigDecimal.class);
                case "at" -> builder.setField(name, new Timestamp(n * 1_000L), Timestamp.class);
                case "color" -> builder.setField(name, client.binary().buildEnum("Color" + suffix, n % 3));
                case "place" ->
                    builder.setField(
                            name, n % 2 == 0 ? object("Place", n, "y", "x") : object("Place", n, "x", "label"));
                case "nothing" -> builder.setField(name, null, String.class);
                case "many" -> builder.setField(name, Collections.singletonList("item " + n), List.class);
                case "shop", "label", "zone" -> builder.setField(name, name + n);
                default -> builder.setField(name, (long) n);
            }
        return builder.build();
    }
}
