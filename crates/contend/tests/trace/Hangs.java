import java.util.concurrent.*;
import java.util.concurrent.locks.*;

/** Programs that hang in a known way, and some that are only idle. */
public class Hangs {
    static final Object accounts = new Object(), journal = new Object();
    static final ReentrantLock first = new ReentrantLock(), second = new ReentrantLock();
    static final CyclicBarrier both = new CyclicBarrier(2);

    static void meet() {
        try { both.await(); } catch (Exception error) { throw new RuntimeException(error); }
    }
    static void pay() { synchronized (accounts) { meet(); synchronized (journal) { meet(); } } }
    static void audit() { synchronized (journal) { meet(); synchronized (accounts) { meet(); } } }
    static void order(ReentrantLock one, ReentrantLock other) {
        one.lock();
        try { meet(); other.lock(); other.unlock(); } finally { one.unlock(); }
    }
    static void payMixed() { synchronized (accounts) { meet(); first.lock(); } }
    static void auditMixed() { first.lock(); meet(); synchronized (accounts) { meet(); } }
    static class Left { static int value; static { meet(); value = Right.value + 1; } static void touch() {} }
    static class Right { static int value; static { meet(); value = Left.value + 1; } static void touch() {} }
    static int parent(ExecutorService pool) throws Exception { return pool.submit(() -> 7).get(); }
    static void leak() { first.lock(); }
    static void start(String name, Runnable run) { new Thread(run, name).start(); }

    public static void main(String[] arguments) throws Exception {
        System.out.println("begins");
        switch (arguments[0]) {
            case "monitors": start("pay", Hangs::pay); start("audit", Hangs::audit); break;
            case "locks": start("pay", () -> order(first, second)); start("audit", () -> order(second, first)); break;
            case "mixed": start("pay", Hangs::payMixed); start("audit", Hangs::auditMixed); break;
            case "classes": start("left", Left::touch); start("right", Right::touch); break;
            case "pool": {
                ExecutorService pool = Executors.newSingleThreadExecutor();
                System.out.println(pool.submit(() -> parent(pool)).get());
                break;
            }
            case "ended": { Thread one = new Thread(Hangs::leak); one.start(); one.join(); first.lock(); break; }
            case "sleeps": start("keeper", () -> { synchronized (accounts) { try { Thread.sleep(3_600_000); } catch (Exception e) {} } });
                Thread.sleep(100); synchronized (accounts) { } break;
            case "lost": synchronized (accounts) { accounts.wait(); } break;
            case "idle": { Executors.newFixedThreadPool(2).submit(() -> 1).get(); new java.net.ServerSocket(0).accept(); break; }
            case "latch": { var s = new java.net.ServerSocket(0); start("accept", () -> { try { s.accept(); } catch (Exception e) {} }); new CountDownLatch(1).await(); break; }
            case "timer": { new java.util.Timer(true).schedule(new java.util.TimerTask() { public void run() {} }, 0, 200); new CountDownLatch(1).await(); break; }
            case "busy": for (long i = 0; ; i++) if (i < 0) break; break;
            default: throw new IllegalArgumentException(arguments[0]);
        }
    }
}
