import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.IgniteClientDisconnectedException;
import org.apache.ignite.IgniteDataStreamer;
import org.apache.ignite.Ignition;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.logger.java.JavaLogger;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;
import org.apache.ignite.transactions.Transaction;
import org.apache.ignite.transactions.TransactionConcurrency;
import org.apache.ignite.transactions.TransactionIsolation;

/**
 * Writers without pause that survive the death of nodes and stop when a file exists. Runs as a client node until
 * SIGTERM. Usage: Traffic discovery-host:port,… work-folder stop-file seed operations-a-second first-value
 * keys-a-writer mode:cache[,cache…] …
 *
 * <p>Each {@code mode:caches} is a thread, the only writer of its keys (long): {@code number + index * keys-a-writer}.
 * Values (long) of a key increase; those of a rolled-back transaction are negative, so that they are recognized.
 *
 * <pre>
 *   puts     put, a fifth removes
 *   batches  putAll and removeAll of ten keys
 *   tx       pessimistic transactions that put and remove four keys in each of the caches; a fifth is rolled back
 *   stream   data streamer that overwrites
 *   insert   data streamer that does not overwrite, beside puts and removes of the same keys
 * </pre>
 *
 * Every 200 ms it prints a line of counts, the last one when all writers have ended:
 * {@code {"ended":false,"operations":9,"puts":7,"removes":2,"rolled_back":0,"failures":0,"highest":7}}; an operation is
 * a completed call or transaction, {@code failures} ended with an exception, {@code highest} is the last value.
 */
public class Traffic {
    static final int BATCH = 10, TX_KEYS = 4;
    static final LongAdder operations = new LongAdder(), puts = new LongAdder(), removes = new LongAdder();
    static final LongAdder rolledBack = new LongAdder(), failures = new LongAdder();
    static volatile boolean stopped;

    static class Writer extends Thread {
        final Ignite ignite;
        final String mode;
        final String[] caches;
        final Random random;
        final int index, keys;
        final long pauseNanos;
        volatile long value;

        Writer(Ignite ignite, String spec, int index, long seed, long first, int keys, long pauseNanos) {
            super("writer-" + index);
            this.ignite = ignite;
            this.mode = spec.substring(0, spec.indexOf(':'));
            this.caches = spec.substring(spec.indexOf(':') + 1).split(",");
            this.random = new Random(seed * 31 + index);
            this.index = index;
            this.keys = keys;
            this.value = first;
            this.pauseNanos = pauseNanos;
        }

        @Override
        public void run() {
            long next = System.nanoTime();
            while (!stopped) {
                try {
                    operation();
                    operations.increment();
                } catch (Throwable failure) { // the outcome is unknown; the next value is greater anyway
                    failures.increment();
                    if (failures.sum() <= 20) System.err.println(getName() + " " + mode + ": " + failure);
                    afterFailure(failure);
                }
                next = Math.max(next + pauseNanos, System.nanoTime() - 1_000_000_000L);
                for (long left; !stopped && (left = next - System.nanoTime()) > 0; )
                    LockSupport.parkNanos(Math.min(left, 50_000_000L));
            }
        }

        void afterFailure(Throwable failure) {
            for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
                if (cause instanceof IgniteClientDisconnectedException) {
                    try {
                        ((IgniteClientDisconnectedException) cause)
                                .reconnectFuture()
                                .get(60_000);
                    } catch (Exception notYet) {
                        // the next operation fails the same way and waits again
                    }
                    return;
                }
            }
            LockSupport.parkNanos(20_000_000L);
        }

        void operation() throws Exception {
            String cache = caches[random.nextInt(caches.length)];
            switch (mode) {
                case "puts":
                    put(cache);
                    break;
                case "batches":
                    batch(cache);
                    break;
                case "tx":
                    transaction();
                    break;
                case "stream":
                    stream(cache, true);
                    break;
                case "insert":
                    if (random.nextInt(2) == 0) put(cache);
                    else stream(cache, false);
                    break;
                default:
                    throw new IllegalArgumentException(mode);
            }
        }

        IgniteCache<Long, Long> cache(String name) {
            IgniteCache<Long, Long> found = ignite.cache(name);
            if (found == null) throw new IllegalStateException("no cache " + name);
            return found;
        }

        long key() {
            return (long) index * keys + random.nextInt(keys);
        }

        Map<Long, Long> values(int count) {
            Map<Long, Long> chosen = new TreeMap<>();
            for (int i = 0; i < count; i++) chosen.put(key(), ++value);
            return chosen;
        }

        void put(String name) {
            IgniteCache<Long, Long> cache = cache(name);
            if (random.nextInt(5) == 0) {
                cache.remove(key());
                removes.increment();
            } else {
                cache.put(key(), ++value);
                puts.increment();
            }
        }

        void batch(String name) {
            Map<Long, Long> chosen = values(BATCH);
            if (random.nextInt(5) == 0) {
                cache(name).removeAll(new TreeSet<>(chosen.keySet()));
                removes.add(chosen.size());
            } else {
                cache(name).putAll(chosen);
                puts.add(chosen.size());
            }
        }

        void transaction() {
            boolean back = random.nextInt(5) == 0;
            int put = 0, removed = 0;
            for (String name : caches)
                cache(name); // a client node starts a cache when it first asks for it, which no transaction allows
            try (Transaction tx = ignite.transactions()
                    .txStart(TransactionConcurrency.PESSIMISTIC, TransactionIsolation.REPEATABLE_READ, 10_000, 0)) {
                for (String name : caches) {
                    IgniteCache<Long, Long> cache = cache(name);
                    for (Map.Entry<Long, Long> entry : values(TX_KEYS).entrySet()) {
                        if (random.nextInt(5) == 0) {
                            cache.remove(entry.getKey());
                            removed++;
                        } else {
                            cache.put(entry.getKey(), back ? -entry.getValue() : entry.getValue());
                            put++;
                        }
                    }
                }
                if (back) {
                    tx.rollback();
                    rolledBack.increment();
                    return;
                }
                tx.commit();
            }
            puts.add(put);
            removes.add(removed);
        }

        void stream(String name, boolean overwrite) {
            cache(name);
            Map<Long, Long> chosen = values(BATCH);
            IgniteDataStreamer<Long, Long> streamer = ignite.dataStreamer(name);
            boolean flushed = false;
            try {
                streamer.allowOverwrite(overwrite);
                streamer.addData(chosen);
                streamer.flush();
                flushed = true;
            } finally {
                streamer.close(!flushed);
            }
            puts.add(chosen.size());
        }
    }

    static void report(List<Writer> writers, boolean ended) {
        long highest = writers.stream().mapToLong(writer -> writer.value).max().orElse(0);
        System.out.printf(
                "{\"ended\":%b,\"operations\":%d,\"puts\":%d,\"removes\":%d,\"rolled_back\":%d,\"failures\":%d,\"highest\":%d}%n",
                ended, operations.sum(), puts.sum(), removes.sum(), rolledBack.sum(), failures.sum(), highest);
        System.out.flush();
    }

    public static void main(String[] arguments) throws InterruptedException {
        Path stopFile = Paths.get(arguments[2]);
        long seed = Long.parseLong(arguments[3]), first = Long.parseLong(arguments[5]);
        double rate = Double.parseDouble(arguments[4]);
        int keys = Integer.parseInt(arguments[6]);
        List<String> specs = Arrays.asList(arguments).subList(7, arguments.length);
        IgniteConfiguration configuration = new IgniteConfiguration()
                .setClientMode(true)
                .setIgniteInstanceName("traffic")
                .setLocalHost("127.0.0.1")
                .setWorkDirectory(Paths.get(arguments[1]).toAbsolutePath().toString())
                .setMetricsLogFrequency(0)
                .setConnectorConfiguration(null)
                .setGridLogger(new JavaLogger())
                .setDiscoverySpi(new TcpDiscoverySpi()
                        .setIpFinder(
                                new TcpDiscoveryVmIpFinder().setAddresses(Arrays.asList(arguments[0].split(",")))));
        Ignite ignite = Ignition.start(configuration);
        if (ignite.cluster().state() != ClusterState.ACTIVE)
            throw new IllegalStateException("the cluster is not active");
        List<Writer> writers = new ArrayList<>();
        for (String spec : specs)
            writers.add(
                    new Writer(ignite, spec, writers.size(), seed, first, keys, (long) (1e9 * specs.size() / rate)));
        writers.forEach(Thread::start);
        while (!Files.exists(stopFile)) {
            Thread.sleep(200);
            report(writers, false);
        }
        stopped = true;
        for (Writer writer : writers) writer.join();
        report(writers, true);
        Thread.sleep(
                Long.MAX_VALUE); // a client node that leaves changes the topology, which is for the caller to choose
    }
}
