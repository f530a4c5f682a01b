import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collection;
import java.util.Properties;
import javax.cache.Cache;
import org.apache.ignite.Ignition;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.query.QueryCursor;
import org.apache.ignite.cache.query.ScanQuery;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.configuration.ClientConfiguration;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Peer of the whole copy, as an expert writes it by hand: Java thin client, partition scans on T threads, JSON by
 * Jackson, and one Kafka transaction a thread. It keeps no offsets and cannot go on after a failure. With keepNames it
 * asks for the names of the fields once, not for each entry.
 */
public final class HandWrittenCopy {
    private static final int PARTITIONS = 1024;

    public static void main(String[] arguments) throws Exception {
        Serve.rounds(HandWrittenCopy::copyAll);
    }

    static long copyAll(JsonNode request) throws Exception {
        int threads = request.get("threads").asInt();
        return Serve.inThreads(
                threads,
                thread -> copy(request, thread, thread * PARTITIONS / threads, (thread + 1) * PARTITIONS / threads));
    }

    static long copy(JsonNode request, int thread, int from, int to) throws Exception {
        ObjectMapper json = new ObjectMapper();
        Collection<String> fields = null;
        boolean keepNames = request.get("keepNames").asBoolean();
        String topic = request.get("topic").asText();
        long entries = 0;
        ClientConfiguration address =
                new ClientConfiguration().setAddresses(request.get("address").asText());
        try (IgniteClient client = Ignition.startClient(address);
                KafkaProducer<byte[], byte[]> producer =
                        producer(request.get("bootstrap").asText(), thread)) {
            ClientCache<Object, BinaryObject> cache = client.<Object, BinaryObject>cache(
                            request.get("cache").asText())
                    .withKeepBinary();
            producer.initTransactions();
            producer.beginTransaction();
            for (int partition = from; partition < to; partition++) {
                ScanQuery<Object, BinaryObject> scan = new ScanQuery<Object, BinaryObject>()
                        .setPartition(partition)
                        .setPageSize(10_000);
                try (QueryCursor<Cache.Entry<Object, BinaryObject>> cursor = cache.query(scan)) {
                    for (Cache.Entry<Object, BinaryObject> entry : cursor) {
                        BinaryObject value = entry.getValue();
                        if (fields == null || !keepNames) fields = value.type().fieldNames();
                        ObjectNode object = json.createObjectNode();
                        for (String field : fields) object.putPOJO(field, value.field(field));
                        byte[] key = json.writeValueAsBytes(entry.getKey());
                        producer.send(new ProducerRecord<>(topic, key, json.writeValueAsBytes(object)));
                        entries++;
                    }
                }
            }
            producer.commitTransaction();
        }
        return entries;
    }

    static KafkaProducer<byte[], byte[]> producer(String bootstrap, int thread) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", "hand-written-copy-" + thread);
        settings.put("linger.ms", "20");
        settings.put("batch.size", "1000000");
        settings.put("compression.type", "lz4");
        settings.put("buffer.memory", "268435456");
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }
}
