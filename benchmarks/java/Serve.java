import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * The protocol of a contender: a JSON request a line on stdin, a line '@' + JSON with entries and seconds on stdout.
 */
final class Serve {
    interface Round {
        long entries(JsonNode request) throws Exception;
    }

    interface Part {
        long entries(int thread) throws Exception;
    }

    static void rounds(Round round) throws Exception {
        ObjectMapper json = new ObjectMapper();
        System.out.println("@{\"ready\":true}");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            long started = System.nanoTime();
            long entries = round.entries(json.readTree(line));
            double seconds = (System.nanoTime() - started) / 1e9;
            System.out.println("@" + json.writeValueAsString(Map.of("entries", entries, "seconds", seconds)));
        }
    }

    /** The entries of all parts, each done by a thread of its own; threads are numbered from 0. */
    static long inThreads(int threads, Part part) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Future<Long>> parts = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                int thread = i;
                parts.add(pool.submit(() -> part.entries(thread)));
            }
            long entries = 0;
            for (Future<Long> one : parts) entries += one.get();
            return entries;
        } finally {
            pool.shutdown();
        }
    }

    private Serve() {}
}
