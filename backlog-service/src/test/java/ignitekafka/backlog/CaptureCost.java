package ignitekafka.backlog;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.apache.ignite.cache.CacheWriteSynchronizationMode;
import org.apache.ignite.client.ClientCache;
import org.apache.ignite.client.IgniteClient;

/**
 * Measures the cost of capture: CPU and time per put without and with it, in turn, for two thin clients against nodes
 * in one process. Compare CPU if the machine is busy. Arguments: puts per round, rounds, nodes.
 */
final class CaptureCost {
    private CaptureCost() {
        // A program.
    }

    public static void main(String[] arguments) throws Exception {
        int puts = Integer.parseInt(arguments[0]);
        int rounds = Integer.parseInt(arguments[1]);
        List<Double> off = new ArrayList<>();
        List<Double> on = new ArrayList<>();

        try (TestCluster cluster = new TestCluster(Files.createTempDirectory("cost"))
                .regionBytes(512L << 20)
                .start(Integer.parseInt(arguments[2]))) {
            cluster.node(0)
                    .getOrCreateCache(TestCluster.cache("a", 1)
                            .setWriteSynchronizationMode(CacheWriteSynchronizationMode.FULL_SYNC));
            round(cluster, puts);

            for (int i = 0; i < rounds; i++) {
                off.add(round(cluster, puts));
                cluster.service().start("c", Map.of(), new String[] {"a"});
                on.add(round(cluster, puts));

                long read = System.nanoTime();
                TestReader reader = new TestReader(cluster.node(0), "c", "a");

                reader.drain(cluster.service());
                System.out.printf(
                        Locale.ROOT,
                        "read and acknowledged %d in %d ms%n",
                        reader.read,
                        (System.nanoTime() - read) / 1_000_000);
                cluster.service().stop("c", true);
            }
        }

        System.out.printf(
                Locale.ROOT,
                "CPU per put, µs: off %s, on %s; ratio of medians %.2f%n",
                off,
                on,
                median(off) / median(on));
    }

    /** Microseconds of CPU per put, including the writes of the capture afterwards. */
    private static double round(TestCluster cluster, int puts) throws Exception {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long cpu = system.getProcessCpuTime();
        long start = System.nanoTime();
        List<CompletableFuture<Void>> writers = new ArrayList<>();

        for (int writer = 0; writer < 2; writer++) {
            int seed = writer;

            writers.add(CompletableFuture.runAsync(() -> write(cluster, seed, puts / 2)));
        }

        writers.forEach(CompletableFuture::join);

        double seconds = (System.nanoTime() - start) / 1e9;

        for (String connector : cluster.service().connectors())
            cluster.service().barrier(connector);

        double micros = (system.getProcessCpuTime() - cpu) / 1_000.0 / puts;

        System.out.printf(
                Locale.ROOT,
                "%s: %.0f puts/s, %.1f µs CPU per put%n",
                cluster.service().connectors().length > 0 ? "on" : "off",
                puts / seconds,
                micros);

        return Math.round(10 * micros) / 10.0;
    }

    private static void write(TestCluster cluster, int seed, int puts) {
        Random random = new Random(seed);

        try (IgniteClient client = cluster.thinClient()) {
            ClientCache<Integer, byte[]> cache = client.cache("a");

            for (int i = 0; i < puts; i++) {
                byte[] value = new byte[100];

                random.nextBytes(value);
                cache.put(random.nextInt(50_000), value);
            }
        }
    }

    private static double median(List<Double> values) {
        double[] sorted = values.stream().mapToDouble(value -> value).toArray();

        Arrays.sort(sorted);

        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }
}
