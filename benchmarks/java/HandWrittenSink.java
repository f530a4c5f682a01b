import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.sql.Timestamp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObjectBuilder;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Peer of the copy from Kafka, as an expert writes it by hand: consumers on T threads over the topic's partitions, JSON
 * by Jackson, objects by BinaryObjectBuilder, putAll of 10,000 entries through the thin client. It knows the types of
 * the fields, commits no offsets and handles no errors.
 */
public final class HandWrittenSink {
    private static final int PUT = 10_000;

    public static void main(String[] arguments) throws Exception {
        Serve.rounds(HandWrittenSink::copyAll);
    }

    static long copyAll(JsonNode request) throws Exception {
        int threads = request.get("threads").asInt();
        return Serve.inThreads(threads, thread -> copy(request, thread, threads));
    }

    static long copy(JsonNode request, int thread, int threads) throws Exception {
        ObjectMapper json = new ObjectMapper();
        String topic = request.get("topic").asText(), type = request.get("type").asText();
        Map<String, String> kinds = new HashMap<>();
        request.get("fields")
                .fields()
                .forEachRemaining(
                        field -> kinds.put(field.getKey(), field.getValue().asText()));
        long records = 0;
        ClientConfiguration address =
                new ClientConfiguration().setAddresses(request.get("address").asText());
        try (IgniteClient client = Ignition.startClient(address);
                KafkaConsumer<byte[], byte[]> consumer = consumer(request)) {
            ClientCache<Object, Object> cache =
                    client.cache(request.get("cache").asText()).withKeepBinary();
            List<TopicPartition> mine = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(one -> {
                if (one.partition() % threads == thread) mine.add(new TopicPartition(topic, one.partition()));
            });
            consumer.assign(mine);
            consumer.seekToBeginning(mine);
            Map<TopicPartition, Long> ends = consumer.endOffsets(mine);
            Map<Object, Object> batch = new HashMap<>();
            while (mine.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    BinaryObjectBuilder object = client.binary().builder(type);
                    json.readTree(record.value())
                            .fields()
                            .forEachRemaining(field -> set(object, kinds, field.getKey(), field.getValue()));
                    batch.put(Long.parseLong(new String(record.key())), object.build());
                    records++;
                    if (batch.size() >= PUT) {
                        cache.putAll(batch);
                        batch.clear();
                    }
                }
            }
            if (!batch.isEmpty()) cache.putAll(batch);
        }
        return records;
    }

    static void set(BinaryObjectBuilder object, Map<String, String> kinds, String name, JsonNode value) {
        if (value.isNull()) return;
        switch (kinds.get(name)) {
            case "java.lang.Long" -> object.setField(name, value.longValue());
            case "java.lang.Integer" -> object.setField(name, value.intValue());
            case "java.lang.Double" -> object.setField(name, value.doubleValue());
            case "java.lang.Boolean" -> object.setField(name, value.booleanValue());
            case "java.sql.Timestamp" -> object.setField(name, new Timestamp(value.longValue()));
            default -> object.setField(name, value.textValue());
        }
    }

    static KafkaConsumer<byte[], byte[]> consumer(JsonNode request) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", request.get("bootstrap").asText());
        settings.put("isolation.level", "read_committed");
        settings.put("max.poll.records", "10000");
        settings.put("fetch.max.bytes", "52428800");
        settings.put("max.partition.fetch.bytes", "10485760");
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }
}
