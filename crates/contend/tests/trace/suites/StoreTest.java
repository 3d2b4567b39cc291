import java.util.concurrent.CyclicBarrier;
import org.junit.Test;
import static org.junit.Assert.assertEquals;

public class StoreTest {
    static final Object accounts = new Object(), journal = new Object();
    static final CyclicBarrier both = new CyclicBarrier(2);

    static void lock(Object one, Object other) {
        synchronized (one) {
            try { both.await(); } catch (Exception error) { throw new RuntimeException(error); }
            synchronized (other) { both.reset(); }
        }
    }

    /** Runs the test that does not hang. */
    public static void main(String[] arguments) {
        new StoreTest().adds();
    }

    @Test public void adds() { assertEquals(2, 1 + 1); }

    @Test public void paysAndAudits() throws Exception {
        Thread pay = new Thread(() -> lock(accounts, journal), "pay");
        Thread audit = new Thread(() -> lock(journal, accounts), "audit");
        pay.start();
        audit.start();
        pay.join();
        audit.join();
    }
}
