import java.io.Externalizable;
import java.io.IOException;
import java.io.ObjectInput;
import java.io.ObjectOutput;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.io.Writer;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Collection;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectBuilder;
import org.apache.ignite.binary.BinaryReader;
import org.apache.ignite.binary.BinaryWriter;
import org.apache.ignite.binary.Binarylizable;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.BinaryConfiguration;
import org.apache.ignite.configuration.ClientConfiguration;

/**
 * Writes caches with values of every type, and for each entry a line of expected text: cache, key, value. Usage:
 * WriteTypes host:port cache-prefix expected-file [full-footer]
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

    static class Team {
        int id;
        List<Point> members;
        Map<String, Point> byName;
        Object color;
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

    static class Paint {
        Color color;
        Object coat;

        Paint(Color color, Object coat) {
            this.color = color;
            this.coat = coat;
        }
    }

    /** A key with enums: a field, an element, in a field of class Object, within an object. */
    static class EnumKey {
        Object any;
        Color color;
        Color[] colors;
        int n;
        Paint paint;

        EnumKey(int n) {
            this.n = n;
            color = Color.values()[n % 3];
            any = Color.values()[(n + 1) % 3];
            colors = new Color[] {color, Color.BLUE};
            paint = new Paint(color, Color.RED);
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
            ObjectSamples.write();
            ValueSamples.write();
            evolved();
            expected.flush();
        }
    }

    /** Puts an entry and writes its line. */
    static void put(String cache, Object key, Object value) throws Exception {
        ClientCache<Object, Object> target = client.getOrCreateCache(prefix + cache);
        target.put(key, value);
        expected.println(prefix + cache + "\t" + TypeText.text(key) + "\t" + TypeText.text(value));
    }

    /** Puts an entry whose key is made by a builder: the line is that of the equal key of a class. */
    static void putBuilt(String cache, EnumKey key, Object value) throws Exception {
        ClientCache<Object, Object> target = client.getOrCreateCache(prefix + cache);
        target.put(built(key), value);
        expected.println(prefix + cache + "\t" + TypeText.text(key) + "\t" + TypeText.text(value));
    }

    private static BinaryObject built(EnumKey key) {
        BinaryObjectBuilder paint = client.binary()
                .builder(Paint.class.getName())
                .setField("color", built(key.paint.color))
                .setField("coat", built((Color) key.paint.coat), Object.class);
        return client.binary()
                .builder(EnumKey.class.getName())
                .setField("any", built((Color) key.any), Object.class)
                .setField("color", built(key.color))
                .setField("colors", key.colors)
                .setField("n", key.n)
                .setField("paint", paint.build(), Object.class)
                .build();
    }

    private static BinaryObject built(Color color) {
        return client.binary().buildEnum(Color.class.getName(), color.ordinal());
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
                    : "added=" + TypeText.text("a" + n) + ",id=int:" + n + ",later="
                            + (n % 3 > 1 ? TypeText.text((double) n) : "null") + ",wide="
                            + (n % 3 > 1 ? TypeText.text(new String(new char[n * 40]).replace('\0', 'w')) : "null");
            expected.println(prefix + "evolved\tint:" + n + "\tEvolved(" + rest + ")");
        }
    }
}
