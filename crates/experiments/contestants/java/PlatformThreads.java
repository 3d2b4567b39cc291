/** A thread of the operating system each. */
final class PlatformThreads {
    public static void main(String[] arguments) {
        long stackBytes = 64 * 1024;
        Ring.run(arguments, task -> new Thread(null, task, "ring", stackBytes));
    }
}
