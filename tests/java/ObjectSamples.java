import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

/** Entries whose values are objects: flat, nested, shared, with times. */
class ObjectSamples {
    static void write() throws Exception {
        flat();
        nested();
        shared();
        teams();
        WriteTypes.put("loop", 1, loop());
        WriteTypes.put("raw", 1, new WriteTypes.RawTail());
        WriteTypes.put("optimized", 1, optimized());
        WriteTypes.put("empty", 1, new WriteTypes.Empty());
        times();
    }

    private static void flat() throws Exception {
        for (long n = 0; n < 40; n++) {
            WriteTypes.Flat flat = new WriteTypes.Flat();
            if (n > 0) fill(flat, n);
            WriteTypes.put("flat", n, flat);
        }
        extremes();
    }

    private static void extremes() throws Exception {
        WriteTypes.Flat low = new WriteTypes.Flat();
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
        WriteTypes.put("flat", 100L, low);
        WriteTypes.Flat high = new WriteTypes.Flat();
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
        high.color = WriteTypes.Color.BLUE;
        WriteTypes.put("flat", 101L, high);
        low.time = new Time(0);
        high.time = new Time(86_399_999);
        WriteTypes.put("limits", 0, low);
        WriteTypes.put("limits", 1, high);
    }

    static void fill(WriteTypes.Flat flat, long n) {
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
        flat.color = WriteTypes.Color.values()[(int) (n % 3)];
    }

    private static void nested() throws Exception {
        WriteTypes.put("nested", 0, new WriteTypes.Nested());
        for (int n = 1; n < 30; n++) {
            WriteTypes.Nested value = new WriteTypes.Nested();
            fill(value, n);
            WriteTypes.put("nested", n, value);
        }
        mixed();
    }

    private static void fill(WriteTypes.Nested value, int n) {
        value.point = n % 4 == 0 ? null : new WriteTypes.Point(n, n % 3 == 0 ? null : "p" + n);
        value.any = new WriteTypes.Point(-n, "any");
        value.child = new WriteTypes.Nested();
        value.child.point = new WriteTypes.Point(n, "inner");
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
        value.colors = new WriteTypes.Color[] {WriteTypes.Color.GREEN, null};
        value.points = new WriteTypes.Point[] {new WriteTypes.Point(1, "one"), null, new WriteTypes.Point(n, null)};
        value.objects = new Object[] {n, "text", null, 1.5};
        value.type = n % 2 == 0 ? WriteTypes.Point.class : String.class;
        value.list =
                n % 2 == 0 ? new ArrayList<>(Arrays.asList("l" + n, null, "m")) : Arrays.asList("l" + n, null, "m");
        value.set = new LinkedHashSet<>(Arrays.asList(n, n + 1));
        value.map = new LinkedHashMap<>();
        for (int k = 0; k < n % 4; k++) value.map.put("k" + k, (long) k * n);
    }

    private static void mixed() throws Exception {
        WriteTypes.Nested mixed = new WriteTypes.Nested();
        mixed.any = new WriteTypes.Circle(3, 1.25);
        mixed.point = new WriteTypes.Circle(4, 2.5);
        mixed.list = new LinkedList<>(Arrays.asList(
                1,
                "two",
                3L,
                new ArrayList<>(Arrays.asList(4, 5)),
                new WriteTypes.Point(6, "six"),
                new TreeMap<>(Map.of("a", 1))));
        mixed.map = new HashMap<>(Map.of("inner", new HashMap<>(Map.of("deep", 1))));
        mixed.objects = new Object[] {new int[] {1, 2}, new Object[] {"x"}};
        mixed.set = Collections.singletonList("alone");
        WriteTypes.put("nested", 1000, mixed);
        WriteTypes.Nested ints = new WriteTypes.Nested();
        ints.any = 42;
        ints.map = new LinkedHashMap<>(Map.of(1, new WriteTypes.Point(1, "value")));
        WriteTypes.put("nested", 1001, ints);
    }

    private static void shared() throws Exception {
        for (int n = 0; n < 10; n++) {
            WriteTypes.Point point = new WriteTypes.Point(n, "shared");
            WriteTypes.Nested value = new WriteTypes.Nested();
            value.point = point;
            value.any = point;
            value.list = new ArrayList<>(Arrays.asList(point, point, new WriteTypes.Point(n, "own")));
            WriteTypes.put("shared", n, value);
        }
    }

    private static void teams() throws Exception {
        for (int n = 0; n < 20; n++) {
            WriteTypes.Team team = new WriteTypes.Team();
            team.id = n;
            team.members = new ArrayList<>(
                    Arrays.asList(new WriteTypes.Point(n, "member"), new WriteTypes.Point(-n, "other")));
            team.byName = n % 3 == 0 ? null : new HashMap<>(Map.of("one", new WriteTypes.Point(n, "one")));
            team.color = WriteTypes.Color.GREEN;
            WriteTypes.put("team", n, team);
        }
    }

    private static WriteTypes.Loop loop() {
        WriteTypes.Loop loop = new WriteTypes.Loop();
        loop.name = "me";
        loop.self = loop;
        return loop;
    }

    private static WriteTypes.Nested optimized() {
        WriteTypes.Nested nested = new WriteTypes.Nested();
        nested.any = new WriteTypes.Raw(7);
        return nested;
    }

    private static void times() throws Exception {
        for (int n = 0; n < 5; n++) {
            WriteTypes.Times value = new WriteTypes.Times();
            if (n > 0) {
                value.sqlDate = java.sql.Date.valueOf(LocalDate.of(2024, 2, 28).plusDays(n));
                value.localDate = LocalDate.of(-5 + n * 500, 2, 28);
                value.localDateTime = LocalDateTime.of(2024, 2, 28, 23, n, n * 7, n * 1001);
                value.instant = Instant.ofEpochSecond(n * 1_000_000_000L - 1, n * 1_000);
                value.localTime = LocalTime.of(n, n * 10, n == 2 ? 0 : n, n == 3 ? 5 : 0);
            }
            WriteTypes.put("times", n, value);
        }
    }
}
