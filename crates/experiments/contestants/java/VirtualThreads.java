/** A virtual thread each; needs Java 21. */
final class VirtualThreads {
    public static void main(String[] arguments) {
        Ring.run(arguments, Thread.ofVirtual().factory());
    }
}
