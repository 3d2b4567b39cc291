import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Waits of one kind, for so many seconds: at a lock whose holder another method is, at limits, for I/O, and for work alone. */
public class Shop {
    interface Step { void run() throws Exception; }

    static final ReentrantReadWriteLock book = new ReentrantReadWriteLock();
    static final Semaphore permits = new Semaphore(2);
    static final ExecutorService backend = Executors.newFixedThreadPool(2);
    static final LinkedBlockingQueue<Integer> jobs = new LinkedBlockingQueue<>();
    static final ByteBuffer block = ByteBuffer.allocate(4096);
    static long end;
    static volatile long sum;
    static FileChannel file;

    static void compute(long us) {
        long until = System.nanoTime() + 1_000 * us, x = 1;
        while (System.nanoTime() < until) x = 31 * x + 7;
        sum += x;
    }

    static void reprice() throws Exception {
        book.writeLock().lock();
        try { compute(12_000); } finally { book.writeLock().unlock(); }
        Thread.sleep(8);
    }

    static void quote() {
        book.readLock().lock();
        try { sum++; } finally { book.readLock().unlock(); }
        compute(50);
    }

    static void call() throws Exception { Thread.sleep(6); }

    static void guarded() throws Exception {
        permits.acquire();
        try { call(); } finally { permits.release(); }
    }

    static int fetch() {
        try { Thread.sleep(6); } catch (InterruptedException error) { throw new IllegalStateException(error); }
        return 1;
    }

    static void ask() { CompletableFuture.supplyAsync(Shop::fetch, backend).join(); }

    static void persist() throws Exception {
        file.write(block.duplicate(), 0);
        file.force(true);
    }

    static void append() throws Exception {
        synchronized (file) { persist(); }
    }

    static void serve() throws Exception {
        jobs.take();
        compute(1_000);
    }

    static void offer() throws Exception {
        Thread.sleep(100);
        jobs.put(1);
    }

    static void start(int count, Step step) {
        for (int number = 0; number < count; number++) {
            new Thread(() -> {
                try {
                    while (System.nanoTime() < end) step.run();
                } catch (Exception error) {
                    throw new IllegalStateException(error);
                }
            }).start();
        }
    }

    public static void main(String[] words) throws Exception {
        end = System.nanoTime() + (long) (1e9 * Double.parseDouble(words[1]));
        switch (words[0]) {
            case "book" -> { start(1, Shop::reprice); start(6, Shop::quote); }
            case "permits" -> start(8, Shop::guarded);
            case "pool" -> start(8, Shop::ask);
            case "file" -> {
                var path = Files.createTempFile("shop", "");
                file = FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE);
                start(6, Shop::append);
            }
            default -> { start(4, Shop::serve); start(1, Shop::offer); }
        }
        Thread.sleep((long) (1e3 * Double.parseDouble(words[1])) + 300);
        System.exit(0);
    }
}
