import java.util.concurrent.atomic.AtomicLong;

/**
 * Four threads acquire a monitor, and sleep with it. A line every 100 ms has the iterations and the time that all threads
 * have waited, in nanoseconds; it ends with its input.
 */
public class Sister {
    static final Object cache = new Object();
    static final AtomicLong iterations = new AtomicLong(), waited = new AtomicLong();

    static void writeLog() throws InterruptedException {
        Thread.sleep(2);
    }

    static void request() throws InterruptedException {
        long began = System.nanoTime();
        synchronized (cache) {
            waited.addAndGet(System.nanoTime() - began);
            writeLog();
        }
    }

    static void start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] words) throws Exception {
        for (int number = 0; number < 4; number++) {
            start("worker-" + number, () -> {
                try {
                    for (;;) {
                        request();
                        iterations.incrementAndGet();
                    }
                } catch (InterruptedException end) {
                    Thread.currentThread().interrupt();
                }
            });
        }
        start("printer", () -> {
            try {
                for (;;) {
                    Thread.sleep(100);
                    System.out.println(iterations.get() + " " + waited.get());
                }
            } catch (InterruptedException end) {
                Thread.currentThread().interrupt();
            }
        });
        System.in.read();
    }
}
