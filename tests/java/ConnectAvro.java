import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.apicurio.registry.serde.avro.NonRecordContainer;
import io.apicurio.registry.utils.converter.avro.AvroData;
import io.apicurio.registry.utils.converter.avro.AvroDataConfig;
import java.io.ByteArrayOutputStream;
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
 * <p>A request has "envelope" (base64), the data as JsonConverter writes it, "schema", an Avro schema, and "body"
 * (base64), a value of it. The answer has "schema" and "body" (base64) that AvroData makes of the data, and "read"
 * (base64), the envelope of what it reads from the given body.
 */
public class ConnectAvro {
    public static void main(String[] args) throws Exception {
        Map<String, String> properties = new HashMap<>();
        for (String one : args) properties.put(one.split("=")[0], one.split("=")[1]);
        AvroData data = new AvroData(new AvroDataConfig(properties));
        JsonConverter json = new JsonConverter();
        json.configure(Map.of("schemas.enable", "true", "converter.type", "value"));
        Requests.serve((request, answer) -> answer(request, data, json, answer));
    }

    private static void answer(JsonNode request, AvroData data, JsonConverter json, ObjectNode answer)
            throws Exception {
        SchemaAndValue given =
                json.toConnectData("topic", request.get("envelope").binaryValue());
        Schema schema = data.fromConnectSchema(given.schema());
        answer.put("schema", schema.toString());
        answer.put("body", body(schema, data.fromConnectData(given.schema(), given.value())));
        Schema written = new Schema.Parser().parse(request.get("schema").asText());
        byte[] bytes = request.get("body").binaryValue();
        Object read = new GenericDatumReader<>(written)
                .read(null, DecoderFactory.get().binaryDecoder(bytes, null));
        SchemaAndValue found = data.toConnectData(written, read);
        answer.put("read", json.fromConnectData("topic", found.schema(), found.value()));
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
