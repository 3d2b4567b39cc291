import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;

/**
 * An HTTP service of four threads and eight clients of it in one process. All requests acquire one monitor, and compute with
 * it. A line every 100 ms has the number of requests that were answered; it ends with its input.
 */
class Service {
    static final Map<String, Integer> PAGES = new HashMap<>();
    static final AtomicLong ANSWERED = new AtomicLong();

    static int count(String path) {
        synchronized (PAGES) {
            return PAGES.merge(path, 1, Integer::sum);
        }
    }

    static void answer(HttpExchange exchange) throws IOException {
        byte[] body = (count(exchange.getRequestURI().getPath()) + "\n").getBytes();
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
        ANSWERED.incrementAndGet();
    }

    static void request(URI address) {
        try (InputStream answer = address.toURL().openStream()) {
            answer.readAllBytes();
        } catch (IOException error) {
            System.err.println(error);
            System.exit(1);
        }
    }

    static void background(Runnable step) {
        Thread thread = new Thread(() -> {
            while (true) {
                step.run();
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    static void report() {
        try {
            Thread.sleep(100);
        } catch (InterruptedException error) {
            System.exit(1);
        }
        System.out.println(ANSWERED.get());
    }

    public static void main(String[] words) throws IOException {
        // Otherwise each answer waits for the acknowledgement of its header.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 64);
        server.createContext("/", Service::answer);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.start();
        for (int i = 0; i < 8; i++) {
            URI address = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/page" + i % 3);
            background(() -> request(address));
        }
        background(Service::report);
        System.in.read();
        System.exit(0);
    }
}
