import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/** Answers each line of standard input, a JSON object, with a JSON object in a line of standard output. */
class Requests {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** Puts the members of the answer to a request into `answer`. */
    interface Handler {
        void answer(JsonNode request, ObjectNode answer) throws Exception;
    }

    /** Runs until standard input ends. The answer to a request that fails is {"error": messages of the causes}. */
    static void serve(Handler handler) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = MAPPER.createObjectNode();
            try {
                handler.answer(MAPPER.readTree(line), answer);
            } catch (RuntimeException error) {
                answer.put("error", messages(error));
            }
            System.out.write(MAPPER.writeValueAsBytes(answer));
            System.out.write('\n');
            System.out.flush();
        }
    }

    private static String messages(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable one = error; one != null; one = one.getCause()) text.append(one.getMessage());
        return text.toString();
    }
}
