import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Time;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Converts Connect data with Kafka's JsonConverter (schemas.enable=false).
 *
 * <p>Standard input, one JSON array a line: [decimal.format, schema, value]; standard output, one line each: the
 * converter's bytes. A schema is {"type": "int8" ... "struct", "items": s, "keys": s, "values": s, "fields": [[name,
 * s], ...], "scale": n}; the type "none" is no schema, and its value an empty map. A value has the exact form: integers
 * and decimals as strings, floats as the hexadecimal bits, bytes as base64, a map as pairs.
 */
public class ConnectJson {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = MAPPER.readTree(line);
            Schema schema = schema(request.get(1));
            byte[] bytes =
                    converter(request.get(0).asText()).fromConnectData("topic", schema, value(schema, request.get(2)));
            System.out.write(bytes);
            System.out.write('\n');
            System.out.flush();
        }
    }

    private static JsonConverter converter(String decimalFormat) {
        JsonConverter converter = new JsonConverter();
        converter.configure(
                Map.of("schemas.enable", "false", "decimal.format", decimalFormat, "converter.type", "value"));
        return converter;
    }

    static Schema schema(JsonNode node) {
        switch (node.get("type").asText()) {
            case "timestamp":
                return Timestamp.builder().optional().build();
            case "date":
                return org.apache.kafka.connect.data.Date.builder().optional().build();
            case "time":
                return Time.builder().optional().build();
            case "decimal":
                return Decimal.builder(node.get("scale").asInt()).optional().build();
            case "array":
                return SchemaBuilder.array(schema(node.get("items"))).optional().build();
            case "map":
                return SchemaBuilder.map(schema(node.get("keys")), schema(node.get("values")))
                        .optional()
                        .build();
            case "struct":
                return struct(node.get("fields"));
            case "none":
                return null;
            default:
                Schema.Type type = Schema.Type.valueOf(node.get("type").asText().toUpperCase(Locale.ROOT));
                return SchemaBuilder.type(type).optional().build();
        }
    }

    private static Schema struct(JsonNode fields) {
        SchemaBuilder builder = SchemaBuilder.struct().optional();
        for (JsonNode field : fields) builder.field(field.get(0).asText(), schema(field.get(1)));
        return builder.build();
    }

    static Object value(Schema schema, JsonNode node) {
        if (node.isNull()) return null;
        if (schema == null) return new LinkedHashMap<>();
        if (schema.name() != null) return logical(schema, node.asText());
        switch (schema.type()) {
            case INT8:
                return Byte.valueOf(node.asText());
            case INT16:
                return Short.valueOf(node.asText());
            case INT32:
                return Integer.valueOf(node.asText());
            case INT64:
                return Long.valueOf(node.asText());
            case FLOAT32:
                return Float.intBitsToFloat(Integer.parseUnsignedInt(node.asText(), 16));
            case FLOAT64:
                return Double.longBitsToDouble(Long.parseUnsignedLong(node.asText(), 16));
            case BOOLEAN:
                return node.asBoolean();
            case STRING:
                return node.asText();
            case BYTES:
                return Base64.getDecoder().decode(node.asText());
            case ARRAY:
                return array(schema, node);
            case MAP:
                return map(schema, node);
            default:
                return structValue(schema, node);
        }
    }

    private static Object logical(Schema schema, String text) {
        if (schema.name().equals(Decimal.LOGICAL_NAME)) {
            int scale = Integer.parseInt(schema.parameters().get(Decimal.SCALE_FIELD));
            return new BigDecimal(new BigInteger(text), scale);
        }
        return new Date(Long.parseLong(text));
    }

    private static List<Object> array(Schema schema, JsonNode node) {
        List<Object> items = new ArrayList<>();
        for (JsonNode item : node) items.add(value(schema.valueSchema(), item));
        return items;
    }

    private static Map<Object, Object> map(Schema schema, JsonNode node) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (JsonNode pair : node)
            map.put(value(schema.keySchema(), pair.get(0)), value(schema.valueSchema(), pair.get(1)));
        return map;
    }

    private static Struct structValue(Schema schema, JsonNode node) {
        Struct struct = new Struct(schema);
        int i = 0;
        for (Field field : schema.fields()) struct.put(field, value(field.schema(), node.get(i++)));
        return struct;
    }
}
