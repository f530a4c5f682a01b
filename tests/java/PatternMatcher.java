import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** Reads a pattern and a text in base64 (= for an empty one) from each line and prints the result of String.matches. */
public class PatternMatcher {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] pair = line.split(" ");
            System.out.println(text(pair[1]).matches(text(pair[0])));
        }
    }

    private static String text(String word) {
        return word.equals("=") ? "" : new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8);
    }
}
