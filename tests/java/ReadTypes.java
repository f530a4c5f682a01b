import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import javax.cache.Cache;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectBuilder;
import org.apache.ignite.cache.query.FieldsQueryCursor;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.BinaryConfiguration;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.ignite.internal.binary.BinaryObjectExImpl;

/**
 * Prints what a Java client reads, as lines of text. Usage, after host:port and compact or full: read cache ...:
 * entries as Java objects, and whether get finds each key after Java has encoded the key again: cache, key, value,
 * found. read-binary cache ...: the same, of objects whose classes it does not have. sql cache query: rows with column
 * names, and values as of TypeText.text. build: bytes of objects made with BinaryObjectBuilder, in hexadecimal, for the
 * numbers 1 to 5 and 0. sparse: the same of objects with different fields.
 */
public class ReadTypes {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    public static void main(String[] args) throws Exception {
        ClientConfiguration configuration = new ClientConfiguration()
                .setAddresses(args[0])
                .setAutoBinaryConfigurationEnabled(false)
                .setBinaryConfiguration(new BinaryConfiguration().setCompactFooter(args[1].equals("compact")));
        try (IgniteClient client = Ignition.startClient(configuration)) {
            List<String> caches = Arrays.asList(args).subList(3, args.length);
            if (args[2].equals("read")) for (String cache : caches) read(client.cache(cache));
            else if (args[2].equals("read-binary"))
                for (String cache : caches) read(client.cache(cache).withKeepBinary());
            else if (args[2].equals("sql")) sql(client.cache(args[3]).query(new SqlFieldsQuery(args[4])));
            else
                for (int n : new int[] {1, 2, 3, 4, 5, 0}) {
                    BinaryObject made = args[2].equals("sparse") ? sparse(client, n) : build(client, n);
                    OUT.println(HexFormat.of().formatHex(((BinaryObjectExImpl) made).array()));
                }
        }
    }

    private static void read(ClientCache<Object, Object> cache) throws Exception {
        for (Cache.Entry<Object, Object> entry : cache.query(new ScanQuery<>()).getAll()) {
            String value = TypeText.text(entry.getValue());
            boolean found = value.equals(TypeText.text(cache.get(entry.getKey()))) && cache.containsKey(entry.getKey());
            OUT.println(cache.getName() + "\t" + TypeText.text(entry.getKey()) + "\t" + value + "\t" + found);
        }
    }

    private static void sql(FieldsQueryCursor<List<?>> rows) throws Exception {
        for (List<?> row : rows) {
            List<String> values = new ArrayList<>();
            for (int n = 0; n < row.size(); n++) values.add(rows.getFieldName(n) + "=" + TypeText.text(row.get(n)));
            OUT.println(String.join("\t", values));
        }
    }

    /**
     * Number 0 has nulls only, last, as a null would make its field's type Object; texts grow, so that offsets take 1,
     * 2, at last 4 bytes.
     */
    private static BinaryObject build(IgniteClient client, int n) {
        BinaryObjectBuilder builder = client.binary().builder("org.example.Built");
        Object[][] fields = {
            {"aByte", (byte) -n},
            {"aShort", (short) (n * 300)},
            {"anInt", n * 70_000},
            {"aLong", -((long) n << 40)},
            {"aFloat", n / 3f},
            {"aDouble", n / 7d},
            {"aChar", (char) (0x20ac + n)},
            {"aBoolean", n % 2 == 0},
            {"text", "\u20ac\ud83d\ude00".repeat(n) + "x".repeat(n > 4 ? 70_000 : n > 2 ? 300 : 3)},
            {"uuid", new UUID(0x0123456789abcdefL * n, -n)},
            {"date", new Date(1_700_000_000_000L - n)},
            {"timestamp", timestamp(n)},
            {"time", new Time(n * 1000)},
            {"decimal", new BigDecimal(n % 2 == 0 ? "12345678901234567890.123" : "-0.00" + n).setScale(3)},
            {"sqlDate", new java.sql.Date(86_400_000L * n)},
            {"bytes", new byte[] {(byte) n, -1}},
            {"ints", new int[n]},
            {"chars", new char[] {'a', (char) -1}},
            {"booleans", new boolean[] {true, false}},
            {"strings", new String[] {"a", null, "b" + n}},
            {"uuids", new UUID[] {new UUID(n, 1)}},
            {"decimals", new BigDecimal[] {new BigDecimal("1.50"), null}},
            {"timestamps", new Timestamp[] {timestamp(n)}},
            {"arrays", new int[][] {{1}, {2, n}}},
            {"list", new ArrayList<>(Arrays.asList(1L, null, (long) n))},
            {"map", new HashMap<>(Collections.singletonMap("k" + n, (double) n))},
            {"inner", inner(client, n)},
            {"color", client.binary().buildEnum("WriteTypes$Color", n % 3)},
            {"last", n},
        };
        for (Object[] field : fields) builder.setField((String) field[0], n == 0 ? null : field[1]);
        return builder.build();
    }

    /** Each of its fields is set for some numbers only, none for 0. */
    private static BinaryObject sparse(IgniteClient client, int n) {
        BinaryObjectBuilder builder = client.binary().builder("org.example.Sparse");
        if (n % 2 == 1) builder.setField("a", n);
        if (n > 2) builder.setField("b", "x".repeat(n > 4 ? 70_000 : n > 3 ? 300 : 3));
        if (n == 2 || n > 3) builder.setField("c", sparse(client, n == 4 ? 0 : 1));
        return builder.build();
    }

    private static Timestamp timestamp(int n) {
        Timestamp value = new Timestamp(-1_700_000_000_000L - n);
        value.setNanos(n * 123_456_000);
        return value;
    }

    private static BinaryObject inner(IgniteClient client, int n) {
        return client.binary()
                .builder("org.example.Inner")
                .setField("x", n)
                .setField("label", "y".repeat(n * 60))
                .build();
    }
}

/** The class of objects that WriteTypes makes with a builder. */
class Evolved {
    Integer id;
    String added;
    Double later;
    String wide;
}
