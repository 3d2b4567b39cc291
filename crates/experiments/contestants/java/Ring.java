import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.LockSupport;

/** Threads, of whatever kind a factory makes, that pass a token around; each parks until its own slot is filled. */
final class Ring {
    private static final long EMPTY = -1;

    /** A slot for one token, at which one thread waits. */
    private static final class Mailbox {
        private Thread owner;
        private volatile long token = EMPTY;

        void put(long token) {
            this.token = token;
            LockSupport.unpark(owner);
        }

        long take() {
            long taken;
            while ((taken = token) == EMPTY) {
                LockSupport.park(this);
            }
            token = EMPTY;
            return taken;
        }
    }

    static void run(String[] arguments, ThreadFactory factory) {
        String number = "[0-9]{1,15}";
        if (arguments.length != 2 || !arguments[0].matches(number) || !arguments[1].matches(number)
                || Long.parseLong(arguments[0]) < 1) {
            System.err.println(
                    "ring: needs THREADS (1 or more) and HOPS (0 or more), whole numbers of at most 15 digits");
            System.exit(2);
        }
        Mailbox[] mailboxes = new Mailbox[Math.toIntExact(Long.parseLong(arguments[0]))];
        for (int i = 0; i < mailboxes.length; i++) {
            mailboxes[i] = new Mailbox();
        }
        Mailbox last = new Mailbox();
        last.owner = Thread.currentThread();

        // Who a mailbox belongs to is known to all before the first thread starts.
        for (int i = 0; i < mailboxes.length; i++) {
            int index = i;
            mailboxes[i].owner = factory.newThread(() -> passOn(index, mailboxes, last));
        }
        for (Mailbox mailbox : mailboxes) {
            mailbox.owner.start();
        }
        mailboxes[0].put(Long.parseLong(arguments[1]));
        System.out.println(last.take());
        System.exit(0);
    }

    private static void passOn(int index, Mailbox[] mailboxes, Mailbox last) {
        Mailbox own = mailboxes[index];
        Mailbox next = mailboxes[(index + 1) % mailboxes.length];
        long token;
        while ((token = own.take()) > 0) {
            next.put(token - 1);
        }
        last.put(index + 1);
    }
}
