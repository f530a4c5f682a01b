import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
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

/**
 * Connect schemas and values as JSON, in the form of tests/support/connect_data.py.
 *
 * <p>A schema is null or {"type": Connect's name in lower case, "optional", "name", "version", "doc", "parameters":
 * [[name, value], ...], "default": a value, "fields": [[name, schema], ...], "keys", "values"}. A value has the exact
 * form: integers as strings (a date in milliseconds), a decimal as [unscaled, scale], floats as the hexadecimal bits,
 * bytes as base64, a map as pairs, a struct as an array. A value to be written without a schema is plain JSON.
 */
class ConnectData {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    static Schema schema(JsonNode node) {
        if (node.isNull()) return null;
        SchemaBuilder builder = builder(node);
        if (node.path("optional").asBoolean()) builder.optional();
        if (node.hasNonNull("name")) builder.name(node.get("name").asText());
        if (node.hasNonNull("version")) builder.version(node.get("version").asInt());
        if (node.hasNonNull("doc")) builder.doc(node.get("doc").asText());
        for (JsonNode pair : node.path("parameters"))
            builder.parameter(pair.get(0).asText(), pair.get(1).asText());
        if (node.hasNonNull("default")) builder.defaultValue(value(builder, node.get("default")));
        return builder.build();
    }

    private static SchemaBuilder builder(JsonNode node) {
        Schema.Type type = Schema.Type.valueOf(node.get("type").asText().toUpperCase(Locale.ROOT));
        switch (type) {
            case ARRAY:
                return SchemaBuilder.array(schema(node.get("values")));
            case MAP:
                return SchemaBuilder.map(schema(node.get("keys")), schema(node.get("values")));
            case STRUCT:
                SchemaBuilder struct = SchemaBuilder.struct();
                for (JsonNode field : node.get("fields"))
                    struct.field(field.get(0).asText(), schema(field.get(1)));
                return struct;
            default:
                return SchemaBuilder.type(type);
        }
    }

    static Object value(Schema schema, JsonNode node) {
        if (node.isNull()) return null;
        if (schema == null) return MAPPER.convertValue(node, Object.class);
        if (isLogical(schema)) return logical(schema, node);
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
                List<Object> items = new ArrayList<>();
                for (JsonNode item : node) items.add(value(schema.valueSchema(), item));
                return items;
            case MAP:
                Map<Object, Object> map = new LinkedHashMap<>();
                for (JsonNode pair : node)
                    map.put(value(schema.keySchema(), pair.get(0)), value(schema.valueSchema(), pair.get(1)));
                return map;
            default:
                Struct struct = new Struct(schema);
                int i = 0;
                for (Field field : schema.fields()) struct.put(field, value(field.schema(), node.get(i++)));
                return struct;
        }
    }

    private static boolean isLogical(Schema schema) {
        return schema.name() != null && schema.name().startsWith("org.apache.kafka.connect.data.");
    }

    private static Object logical(Schema schema, JsonNode node) {
        if (schema.name().equals(Decimal.LOGICAL_NAME))
            return new BigDecimal(
                    new BigInteger(node.get(0).asText()), node.get(1).asInt());
        return new Date(Long.parseLong(node.asText()));
    }

    static JsonNode described(Schema schema) {
        if (schema == null) return MAPPER.nullNode();
        ObjectNode node = MAPPER.createObjectNode();
        node.put("type", schema.type().name().toLowerCase(Locale.ROOT));
        node.put("optional", schema.isOptional());
        if (schema.name() != null) node.put("name", schema.name());
        if (schema.version() != null) node.put("version", schema.version());
        if (schema.doc() != null) node.put("doc", schema.doc());
        if (schema.parameters() != null) {
            ArrayNode parameters = node.putArray("parameters");
            schema.parameters()
                    .forEach((name, value) -> parameters.addArray().add(name).add(value));
        }
        if (schema.defaultValue() != null) node.set("default", exact(schema, schema.defaultValue()));
        if (schema.type() == Schema.Type.MAP) node.set("keys", described(schema.keySchema()));
        if (schema.type() == Schema.Type.MAP || schema.type() == Schema.Type.ARRAY)
            node.set("values", described(schema.valueSchema()));
        if (schema.type() == Schema.Type.STRUCT) {
            ArrayNode fields = node.putArray("fields");
            for (Field field : schema.fields())
                fields.addArray().add(field.name()).add(described(field.schema()));
        }
        return node;
    }

    static JsonNode exact(Schema schema, Object value) {
        if (value == null) return MAPPER.nullNode();
        if (value instanceof Boolean) return MAPPER.getNodeFactory().booleanNode((Boolean) value);
        if (value instanceof BigDecimal) {
            BigDecimal decimal = (BigDecimal) value;
            return MAPPER.createArrayNode()
                    .add(decimal.unscaledValue().toString())
                    .add(decimal.scale());
        }
        if (value instanceof Date) return text(String.valueOf(((Date) value).getTime()));
        if (value instanceof Float) return text(String.format("%08x", Float.floatToRawIntBits((Float) value)));
        if (value instanceof Double) return text(String.format("%016x", Double.doubleToRawLongBits((Double) value)));
        if (value instanceof byte[]) return text(Base64.getEncoder().encodeToString((byte[]) value));
        ArrayNode array = MAPPER.createArrayNode();
        if (value instanceof Collection) {
            for (Object item : (Collection<?>) value) array.add(exact(inner(schema), item));
            return array;
        }
        if (value instanceof Map) {
            Schema keys = schema == null ? null : schema.keySchema();
            ((Map<?, ?>) value)
                    .forEach((key, item) ->
                            array.addArray().add(exact(keys, key)).add(exact(inner(schema), item)));
            return array;
        }
        if (value instanceof Struct) {
            Struct struct = (Struct) value;
            for (Field field : struct.schema().fields())
                array.add(exact(field.schema(), struct.getWithoutDefault(field.name())));
            return array;
        }
        return text(value.toString());
    }

    private static Schema inner(Schema schema) {
        return schema == null ? null : schema.valueSchema();
    }

    private static JsonNode text(String text) {
        return MAPPER.getNodeFactory().textNode(text);
    }
}
