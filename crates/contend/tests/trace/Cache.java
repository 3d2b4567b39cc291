/** Threads wait for a monitor, or for a lock of java.util.concurrent, whose holder sleeps. */
public class Cache {
    static final Object cache = new Object();
    static final java.util.concurrent.locks.ReentrantLock table = new java.util.concurrent.locks.ReentrantLock();

    static void writeLog() throws InterruptedException {
        Thread.sleep(5);
    }

    static void request() throws InterruptedException {
        synchronized (cache) {
            writeLog();
        }
    }

    static void update() throws InterruptedException {
        table.lock();
        try {
            writeLog();
        } finally {
            table.unlock();
        }
    }

    public static void main(String[] words) throws InterruptedException {
        long end = System.nanoTime() + Long.getLong("seconds", 3) * 1_000_000_000L;
        boolean isMonitor = words.length == 0;
        Thread[] threads = new Thread[4];
        for (int number = 0; number < threads.length; number++) {
            threads[number] = new Thread(() -> {
                try {
                    while (System.nanoTime() < end) {
                        if (isMonitor) request(); else update();
                    }
                } catch (InterruptedException end_) {
                    Thread.currentThread().interrupt();
                }
            });
            threads[number].start();
        }
        for (Thread thread : threads) thread.join();
    }
}
