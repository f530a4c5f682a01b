import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads a pattern, a replacement and a text in base64 (= for an empty one) from each line. Prints the replacement for
 * the match of the whole text in base64, "-" if it does not match, or "!" if Java refuses the replacement.
 */
public class NameReplacer {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            Matcher matcher = Pattern.compile(text(words[0])).matcher(text(words[2]));
            if (!matcher.matches()) {
                System.out.println("-");
                continue;
            }
            StringBuilder made = new StringBuilder();
            try {
                matcher.appendReplacement(made, text(words[1]));
                System.out.println(
                        "=" + Base64.getEncoder().encodeToString(made.toString().getBytes(StandardCharsets.UTF_8)));
            } catch (IllegalArgumentException | IndexOutOfBoundsException refused) {
                System.out.println("!");
            }
        }
    }

    private static String text(String word) {
        return word.equals("=") ? "" : new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8);
    }
}
