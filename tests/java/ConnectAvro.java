import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.apicurio.registry.serde.avro.NonRecordContainer;
import io.apicurio.registry.utils.converter.avro.AvroData;
import io.apicurio.registry.utils.converter.avro.AvroDataConfig;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Applies AvroData, an independent form of Confluent's, to Connect data. Arguments are its properties, as name=value.
 *
 * <p>Standard input, a line each: the data as an envelope of JsonConverter, a tab, an Avro schema, a tab, a body in
 * base64. Standard output, a JSON object each: "schema" and "body" (base64) that AvroData makes of the data, and
 * "read", the envelope (base64) of what it reads from the given body; or "error".
 */
public class ConnectAvro {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        Map<String, String> properties = new HashMap<>();
        for (String one : args) properties.put(one.split("=")[0], one.split("=")[1]);
        AvroData data = new AvroData(new AvroDataConfig(properties));
        JsonConverter json = new JsonConverter();
        json.configure(Map.of("schemas.enable", "true", "converter.type", "value"));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = MAPPER.createObjectNode();
            try {
                answer(line.split("\t"), data, json, answer);
            } catch (RuntimeException error) {
                answer.put("error", error.toString());
            }
            System.out.write(MAPPER.writeValueAsBytes(answer));
            System.out.write('\n');
            System.out.flush();
        }
    }

    private static void answer(String[] parts, AvroData data, JsonConverter json, ObjectNode answer) throws Exception {
        SchemaAndValue given = json.toConnectData("topic", parts[0].getBytes(StandardCharsets.UTF_8));
        Schema schema = data.fromConnectSchema(given.schema());
        answer.put("schema", schema.toString());
        answer.put(
                "body",
                Base64.getEncoder().encodeToString(body(schema, data.fromConnectData(given.schema(), given.value()))));
        Schema written = new Schema.Parser().parse(parts[1]);
        Object read = new GenericDatumReader<>(written)
                .read(
                        null,
                        DecoderFactory.get().binaryDecoder(Base64.getDecoder().decode(parts[2]), null));
        SchemaAndValue found = data.toConnectData(written, read);
        answer.put(
                "read",
                Base64.getEncoder().encodeToString(json.fromConnectData("topic", found.schema(), found.value())));
    }

    private static byte[] body(Schema schema, Object value) throws Exception {
        Object plain = value instanceof NonRecordContainer ? ((NonRecordContainer) value).getValue() : value;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
        new GenericDatumWriter<>(schema).write(plain, encoder);
        encoder.flush();
        return out.toByteArray();
    }
}
