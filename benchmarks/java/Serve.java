import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;

/** The protocol of a contender: a JSON request a line on stdin, a line '@' + JSON with entries and seconds on stdout. */
final class Serve {
    interface Round { long entries(JsonNode request) throws Exception; }

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

    private Serve() { }
}
