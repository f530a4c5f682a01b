import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.util.Base64;
import java.util.Properties;

/** Reads a properties file in base64 from each line of standard input and prints its content as a line of JSON. */
public class PropertiesReader {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Properties properties = new Properties();
            properties.load(new ByteArrayInputStream(Base64.getDecoder().decode(line)));
            StringBuilder json = new StringBuilder("{");
            for (String key : properties.stringPropertyNames()) {
                json.append(json.length() > 1 ? "," : "")
                        .append(quoted(key))
                        .append(':')
                        .append(quoted(properties.getProperty(key)));
            }
            System.out.println(json.append('}'));
        }
    }

    private static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (char character : text.toCharArray()) {
            json.append(String.format("\\u%04x", (int) character));
        }
        return json.append('"').toString();
    }
}
