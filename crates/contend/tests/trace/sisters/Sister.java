import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Four threads acquire a monitor, and sleep with it. A line every 100 ms has the iterations and the time that all threads
 * have waited, in nanoseconds; it ends with its input. A monitor is unfair, so a wait can last for seconds: those that have
 * not ended count up to the time of the line.
 */
public class Sister {
    static final Object cache = new Object();
    static final AtomicLong iterations = new AtomicLong(), waited = new AtomicLong();
    /** The time when each thread began to wait, less the program's begin; 0 while it does not wait. */
    static final AtomicLongArray since = new AtomicLongArray(4);
    static final long begin = System.nanoTime() - 1;

    static long now() {
        return System.nanoTime() - begin;
    }

    static long waitedUntilNow() {
        long sum = waited.get();
        for (int number = 0; number < since.length(); number++) {
            long began = since.get(number);
            sum += began == 0 ? 0 : now() - began;
        }
        return sum;
    }

    static void writeLog() throws InterruptedException {
        Thread.sleep(2);
    }

    static void request(int number) throws InterruptedException {
        long began = now();
        since.set(number, began);
        synchronized (cache) {
            since.set(number, 0);
            waited.addAndGet(now() - began);
            writeLog();
        }
    }

    static void start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] words) throws Exception {
        for (int worker = 0; worker < since.length(); worker++) {
            int number = worker;
            start("worker-" + number, () -> {
                try {
                    for (;;) {
                        request(number);
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
                    System.out.println(iterations.get() + " " + waitedUntilNow());
                }
            } catch (InterruptedException end) {
                Thread.currentThread().interrupt();
            }
        });
        System.in.read();
    }
}
