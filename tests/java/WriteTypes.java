import java.io.Externalizable;
import java.io.IOException;
import java.io.ObjectInput;
import java.io.ObjectOutput;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.io.Writer;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObjectBuilder;
import org.apache.ignite.binary.BinaryReader;
import org.apache.ignite.binary.BinaryWriter;
import org.apache.ignite.binary.Binarylizable;
import org.apache.ignite.cache.affinity.AffinityKey;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.BinaryConfiguration;
import org.apache.ignite.configuration.ClientConfiguration;

/**
 * Writes caches that hold every type, and for each entry a line of expected text: cache, key, value. Usage: WriteTypes
 * host:port cache-prefix expected-file [full-footer]
 */
public class WriteTypes {
    enum Color {
        RED,
        GREEN,
        BLUE
    }

    static class Flat {
        byte b;
        short s;
        int i;
        long l;
        float f;
        double d;
        char c;
        boolean z;
        Byte bb;
        Short ss;
        Integer ii;
        Long ll;
        Float ff;
        Double dd;
        Character cc;
        Boolean zz;
        String string;
        UUID uuid;
        Date date;
        Timestamp timestamp;
        Time time;
        BigDecimal decimal;
        byte[] bytes;
        Color color;
    }

    static class Point {
        int x;
        String label;

        Point(int x, String label) {
            this.x = x;
            this.label = label;
        }
    }

    static class Circle extends Point {
        double radius;

        Circle(int x, double radius) {
            super(x, "circle");
            this.radius = radius;
        }
    }

    static class Nested {
        Point point;
        Object any;
        Nested child;
        short[] shorts;
        int[] ints;
        long[] longs;
        float[] floats;
        double[] doubles;
        char[] chars;
        boolean[] booleans;
        String[] strings;
        UUID[] uuids;
        Date[] dates;
        Timestamp[] timestamps;
        Time[] times;
        BigDecimal[] decimals;
        Color[] colors;
        Object[] objects;
        Point[] points;
        List<Object> list;
        Collection<Object> set;
        Map<Object, Object> map;
        Class<?> type;
    }

    static class KeyA {
        int region;
        String code;

        KeyA(int region, String code) {
            this.region = region;
            this.code = code;
        }
    }

    static class Loop {
        String name;
        Loop self;
    }

    static class RawTail implements Binarylizable {
        int x = 7;

        @Override
        public void writeBinary(BinaryWriter writer) {
            writer.writeInt("x", x);
            writer.rawWriter().writeInt(x);
        }

        @Override
        public void readBinary(BinaryReader reader) {
            x = reader.readInt("x");
        }
    }

    static class Raw implements Externalizable {
        int x;

        public Raw() {}

        Raw(int x) {
            this.x = x;
        }

        @Override
        public void writeExternal(ObjectOutput out) throws IOException {
            out.writeInt(x);
        }

        @Override
        public void readExternal(ObjectInput in) throws IOException {
            x = in.readInt();
        }
    }

    static class Empty {}

    static class Times {
        java.sql.Date sqlDate;
        LocalDate localDate;
        LocalDateTime localDateTime;
        Instant instant;
        LocalTime localTime;
    }

    private static PrintWriter expected;
    private static IgniteClient client;
    private static String prefix;

    public static void main(String[] args) throws Exception {
        prefix = args[1];
        ClientConfiguration configuration = new ClientConfiguration().setAddresses(args[0]);
        if (args.length > 3)
            configuration
                    .setAutoBinaryConfigurationEnabled(false)
                    .setBinaryConfiguration(new BinaryConfiguration().setCompactFooter(false));
        try (IgniteClient connected = Ignition.startClient(configuration);
                Writer file =
                        new OutputStreamWriter(Files.newOutputStream(Paths.get(args[2])), StandardCharsets.UTF_8)) {
            client = connected;
            expected = new PrintWriter(file);
            flat();
            nested();
            keys();
            plain();
            evolved();
            shared();
            put("loop", 1, loop());
            put("raw", 1, new RawTail());
            put("optimized", 1, optimized());
            put("empty", 1, new Empty());
            times();
            single();
            expected.flush();
        }
    }

    private static void put(String cache, Object key, Object value) throws Exception {
        ClientCache<Object, Object> target = client.getOrCreateCache(prefix + cache);
        target.put(key, value);
        String text = value instanceof Loop ? "loop" : text(value);
        expected.println(prefix + cache + "\t" + text(key) + "\t" + text);
    }

    private static void flat() throws Exception {
        for (long n = 0; n < 40; n++) {
            Flat flat = new Flat();
            if (n > 0) fill(flat, n);
            put("flat", n, flat);
        }
        Flat low = new Flat();
        low.b = Byte.MIN_VALUE;
        low.s = Short.MIN_VALUE;
        low.i = Integer.MIN_VALUE;
        low.l = Long.MIN_VALUE;
        low.f = Float.NaN;
        low.d = Double.NEGATIVE_INFINITY;
        low.c = 0;
        low.ff = -0.0f;
        low.dd = Double.MIN_VALUE;
        low.string = "";
        low.bytes = new byte[0];
        low.date = new Date(Long.MIN_VALUE);
        low.decimal = new BigDecimal("-0.000");
        low.timestamp = Timestamp.from(Instant.parse("1901-12-13T20:45:51.000000001Z"));
        low.time = new Time(-1);
        put("flat", 100L, low);
        Flat high = new Flat();
        high.b = Byte.MAX_VALUE;
        high.s = Short.MAX_VALUE;
        high.i = Integer.MAX_VALUE;
        high.l = Long.MAX_VALUE;
        high.f = Float.POSITIVE_INFINITY;
        high.d = Double.MAX_VALUE;
        high.c = Character.MAX_VALUE;
        high.z = true;
        high.string = "na\u00efve \u20ac \ud83d\ude00 \u0000 \"quoted\"\n";
        high.date = new Date(Long.MAX_VALUE);
        high.decimal = new BigDecimal("99999999999999999999999999999999999999.9");
        high.time = new Time(100_000_000L);
        high.timestamp = Timestamp.from(Instant.parse("9999-12-31T23:59:59.999999999Z"));
        high.uuid = new UUID(-1, -1);
        high.color = Color.BLUE;
        put("flat", 101L, high);
    }

    private static void fill(Flat flat, long n) {
        flat.b = (byte) n;
        flat.s = (short) (n * 300);
        flat.i = (int) (n * 70_000);
        flat.l = n << 33;
        flat.f = n / 3f;
        flat.d = n / 7d;
        flat.c = (char) (0x20 + n);
        flat.z = n % 2 == 0;
        flat.bb = (byte) -n;
        flat.ss = (short) -n;
        flat.ii = (int) -n;
        flat.ll = -n;
        flat.ff = -n / 3f;
        flat.dd = -n / 7d;
        flat.cc = 'x';
        flat.zz = n % 3 == 0;
        flat.string = n % 5 == 0 ? null : "string " + new String(new char[(int) n * 3]).replace('\0', '\u00e9');
        flat.uuid = new UUID(n * 0x123456789abcdefL, n);
        flat.date = new Date(1_700_000_000_000L + n);
        flat.timestamp = new Timestamp(1_700_000_000_000L + n);
        flat.timestamp.setNanos((int) (n * 1_000_001));
        flat.time = new Time(n * 1000);
        flat.decimal = new BigDecimal(BigInteger.valueOf(n % 2 == 0 ? n : -n * 1_000_000_007L), 4);
        flat.bytes = new byte[] {(byte) n, 0, -1};
        flat.color = Color.values()[(int) (n % 3)];
    }

    private static void nested() throws Exception {
        put("nested", 0, new Nested());
        for (int n = 1; n < 30; n++) {
            Nested value = new Nested();
            value.point = n % 4 == 0 ? null : new Point(n, n % 3 == 0 ? null : "p" + n);
            value.any = new Point(-n, "any");
            value.child = new Nested();
            value.child.point = new Point(n, "inner");
            value.shorts = new short[] {1, (short) -n};
            value.ints = new int[n % 5];
            value.longs = new long[] {Long.MIN_VALUE, n};
            value.floats = new float[] {n / 3f, Float.NaN};
            value.doubles = new double[] {n / 3d};
            value.chars = new char[] {'a', '\uffff'};
            value.booleans = new boolean[] {true, false, n % 2 == 0};
            value.strings = new String[] {"a", null, "", "\u20ac" + n};
            value.uuids = new UUID[] {new UUID(n, -n), null};
            value.dates = new Date[] {new Date(n)};
            value.timestamps = new Timestamp[] {new Timestamp(n), null};
            value.times = new Time[] {new Time(n)};
            value.decimals = new BigDecimal[] {new BigDecimal("1.50"), new BigDecimal(n + ".25"), null};
            value.colors = new Color[] {Color.GREEN, null};
            value.points = new Point[] {new Point(1, "one"), null, new Point(n, null)};
            value.objects = new Object[] {n, "text", null, 1.5};
            value.type = n % 2 == 0 ? Point.class : String.class;
            value.list =
                    n % 2 == 0 ? new ArrayList<>(Arrays.asList("l" + n, null, "m")) : Arrays.asList("l" + n, null, "m");
            value.set = new LinkedHashSet<>(Arrays.asList(n, n + 1));
            value.map = new LinkedHashMap<>();
            for (int k = 0; k < n % 4; k++) value.map.put("k" + k, (long) k * n);
            put("nested", n, value);
        }
        Nested mixed = new Nested();
        mixed.any = new Circle(3, 1.25);
        mixed.point = new Circle(4, 2.5);
        mixed.list = new LinkedList<>(Arrays.asList(
                1,
                "two",
                3L,
                new ArrayList<>(Arrays.asList(4, 5)),
                new Point(6, "six"),
                new TreeMap<>(Map.of("a", 1))));
        mixed.map = new HashMap<>(Map.of("inner", new HashMap<>(Map.of("deep", 1))));
        mixed.objects = new Object[] {new int[] {1, 2}, new Object[] {"x"}};
        mixed.set = Collections.singletonList("alone");
        put("nested", 1000, mixed);
        Nested ints = new Nested();
        ints.any = 42;
        ints.map = new LinkedHashMap<>(Map.of(1, new Point(1, "value")));
        put("nested", 1001, ints);
    }

    private static void keys() throws Exception {
        for (int n = 0; n < 20; n++) {
            put("object_key", new KeyA(n, "code" + n), n % 2 == 0 ? new Point(n, "p") : new Point(-n, null));
            put("string_key", "key \u20ac" + n, new Point(n, "q"));
            put("uuid_key", new UUID(n, n), "value " + n);
            if (n < 3) put("enum_key", Color.values()[n], new BigDecimal(n));
            put("date_key", new Timestamp(n * 1_000L), new Date(n));
            put("decimal_key", new BigDecimal(n).movePointLeft(2), new int[] {n});
        }
        Object[] keys = {(byte) 1, (short) 1, 1, 1L, 1f, 1d, 'a', true, "1", new UUID(0, 1), new Date(1), new Time(1)};
        for (Object key : keys) put("any_key", key, new Point(1, key.getClass().getSimpleName()));
    }

    private static void plain() throws Exception {
        Flat flat = new Flat();
        fill(flat, 3);
        int n = 0;
        for (Field field : Flat.class.getDeclaredFields()) put("plain", n++, field.get(flat));
        for (int k = 0; k < 3; k++) put("plain", n++, new Point(k, "in plain"));
        put("plain", n++, new Circle(1, 2));
        put("plain", n++, new ArrayList<>(Arrays.asList(new Point(1, "in list"), new Point(2, null))));
        put("plain", n++, new HashMap<>(Map.of(new KeyA(1, "k"), new Point(1, "in map"))));
        put("plain", n++, new Object[] {new Point(5, "in array"), 6});
        put("plain", n++, new String[] {"a", null});
        put("plain", n++, new Color[] {Color.RED});
        put("plain", n++, new char[] {'a'});
        put("plain", n++, new BigDecimal("1E+30"));
        put("plain", n++, new BigDecimal("1.000000000000000000000000000000000000000000000000001"));
    }

    private static void evolved() throws Exception {
        for (int n = 0; n < 30; n++) {
            BinaryObjectBuilder builder = client.binary().builder("Evolved").setField("id", n);
            if (n % 3 > 0) builder.setField("added", "a" + n);
            if (n % 3 > 1)
                builder.setField("later", (double) n).setField("wide", new String(new char[n * 40]).replace('\0', 'w'));
            client.getOrCreateCache(prefix + "evolved").put(n, builder.build());
            String rest = n % 3 == 0
                    ? "added=null,id=int:" + n + ",later=null,wide=null"
                    : "added=" + text("a" + n) + ",id=int:" + n + ",later=" + (n % 3 > 1 ? text((double) n) : "null")
                            + ",wide=" + (n % 3 > 1 ? text(new String(new char[n * 40]).replace('\0', 'w')) : "null");
            expected.println(prefix + "evolved\tint:" + n + "\tEvolved(" + rest + ")");
        }
    }

    private static void shared() throws Exception {
        for (int n = 0; n < 10; n++) {
            Point point = new Point(n, "shared");
            Nested value = new Nested();
            value.point = point;
            value.any = point;
            value.list = new ArrayList<>(Arrays.asList(point, point, new Point(n, "own")));
            put("shared", n, value);
        }
    }

    private static Loop loop() {
        Loop loop = new Loop();
        loop.name = "me";
        loop.self = loop;
        return loop;
    }

    private static Nested optimized() {
        Nested nested = new Nested();
        nested.any = new Raw(7);
        return nested;
    }

    private static void times() throws Exception {
        for (int n = 0; n < 5; n++) {
            Times value = new Times();
            if (n > 0) {
                value.sqlDate = java.sql.Date.valueOf(LocalDate.of(2024, 2, 28).plusDays(n));
                value.localDate = LocalDate.of(-5 + n * 500, 2, 28);
                value.localDateTime = LocalDateTime.of(2024, 2, 28, 23, n, n * 7, n * 1001);
                value.instant = Instant.ofEpochSecond(n * 1_000_000_000L - 1, n * 1_000);
                value.localTime = LocalTime.of(n, n * 10, n == 2 ? 0 : n, n == 3 ? 5 : 0);
            }
            put("times", n, value);
        }
    }

    private static void single() throws Exception {
        put("sql_date", 1, java.sql.Date.valueOf("2024-02-29"));
        put("local_date", 1, LocalDate.of(2024, 2, 29));
        put("local_date_time", 1, LocalDateTime.of(2024, 2, 29, 1, 2, 3, 4));
        put("instant", 1, Instant.ofEpochSecond(1, 2));
        put("local_time", 1, LocalTime.of(1, 2));
        put("unmodifiable", 1, Collections.unmodifiableList(new ArrayList<>(Arrays.asList(1, 2))));
        put("list_of", 1, Arrays.asList(1, null, 2));
        put("immutable", 1, List.of("a", "b"));
        put("immutable", 2, List.of());
        put("immutable", 3, Map.of("k", new BigInteger("-170141183460469231731687303715884105728")));
        put(
                "immutable",
                4,
                Arrays.asList(
                        Set.of(LocalDate.of(2024, 1, 2)),
                        Arrays.asList("same", "same"),
                        new UUID(1, 2),
                        'c',
                        new Date(3)));
        put("immutable", 5, Collections.unmodifiableMap(new LinkedHashMap<>(Map.of(1.5, new BigDecimal("-0.25")))));
        put("immutable", 6, new ArrayList<>(Arrays.asList("a")));
        put("tree_map", 1, new TreeMap<>(Map.of("a", 1, "b", 2)));
        put("tree_set", 1, new TreeSet<>(Arrays.asList(3, 1, 2)));
        put("class_value", 1, String.class);
        put("zoned", 1, ZonedDateTime.parse("2024-01-02T03:04:05+01:00[Europe/Paris]"));
        put("affinity_key", new AffinityKey<>(5, 7L), "value");
        put("big_integer", 1, new BigInteger("123456789012345678901234567890"));
    }

    static String text(Object value) throws IllegalAccessException {
        if (value == null) return "null";
        if (value instanceof Byte) return "byte:" + value;
        if (value instanceof Short) return "short:" + value;
        if (value instanceof Integer) return "int:" + value;
        if (value instanceof Long) return "long:" + value;
        if (value instanceof Float) return "float:" + Integer.toHexString(Float.floatToRawIntBits((Float) value));
        if (value instanceof Double) return "double:" + Long.toHexString(Double.doubleToRawLongBits((Double) value));
        if (value instanceof Character) return "char:" + (int) (Character) value;
        if (value instanceof Boolean) return "bool:" + value;
        if (value instanceof String) return "str:" + hex(((String) value).getBytes(StandardCharsets.UTF_8));
        if (value instanceof UUID) return "uuid:" + value;
        if (value instanceof Timestamp)
            return "ts:" + Math.floorDiv(((Timestamp) value).getTime(), 1000L) + ":" + ((Timestamp) value).getNanos();
        if (value instanceof Time) return "time:" + ((Time) value).getTime();
        if (value instanceof java.sql.Date) return "sqldate:" + value;
        if (value instanceof Date) return "date:" + ((Date) value).getTime();
        if (value instanceof BigDecimal)
            return "dec:" + ((BigDecimal) value).unscaledValue() + ":" + ((BigDecimal) value).scale();
        if (value instanceof byte[]) return "bytes:" + hex((byte[]) value);
        if (value instanceof Enum) return "enum:" + ((Enum<?>) value).name();
        if (value instanceof Class) return "class:" + ((Class<?>) value).getName();
        if (value.getClass().getName().startsWith("java.time."))
            return value.getClass().getSimpleName() + ":" + value;
        if (value instanceof AffinityKey)
            return "AffinityKey(affKey=" + text(((AffinityKey<?>) value).affinityKey()) + ",key="
                    + text(((AffinityKey<?>) value).key()) + ")";
        if (value instanceof BigInteger) return "dec:" + value + ":0";
        return compound(value);
    }

    private static String compound(Object value) throws IllegalAccessException {
        List<String> parts = new ArrayList<>();
        if (value instanceof Map) {
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet())
                parts.add(text(entry.getKey()) + "=" + text(entry.getValue()));
            return "{" + String.join(",", parts) + "}";
        }
        if (value instanceof Collection) {
            for (Object item : (Collection<?>) value) parts.add(text(item));
            return "[" + String.join(",", parts) + "]";
        }
        if (value.getClass().isArray()) {
            for (int n = 0; n < Array.getLength(value); n++) parts.add(text(Array.get(value, n)));
            return "[" + String.join(",", parts) + "]";
        }
        Map<String, String> fields = new TreeMap<>();
        for (Class<?> type = value.getClass(); type != Object.class; type = type.getSuperclass())
            for (Field field : type.getDeclaredFields()) fields.put(field.getName(), text(field.get(value)));
        fields.forEach((name, text) -> parts.add(name + "=" + text));
        return value.getClass().getSimpleName() + "(" + String.join(",", parts) + ")";
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte one : bytes) text.append(String.format("%02x", one));
        return text.toString();
    }
}
