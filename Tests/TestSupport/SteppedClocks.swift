public import Glibc
import Processes
import Testing

/// The clocks of a process, each of which a test steps by itself: the real ones are the whole machine's.
///
/// Timers that wait for a time of a clock (timerfd_create(2)) follow its steps; a wait of poll(2) takes the time that it was given, as in the
/// kernel.
public struct SteppedClocks: Sendable {
    public static let canBeBuilt = PreloadedLibrary.canBeBuilt

    private static let source = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <pthread.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <sys/timerfd.h>
        #include <time.h>
        #include <unistd.h>
        enum { clocks = 16, descriptors = 1024 };
        static volatile long *offsets;
        static struct { int is_used, clock; struct itimerspec time; } timers[descriptors];
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        __attribute__((constructor)) static void begin(void) {
            int file = open(getenv("CLOCK_OFFSETS"), O_RDONLY | O_CLOEXEC);
            void *memory = mmap(0, clocks * sizeof *offsets, PROT_READ, MAP_SHARED, file, 0);
            if (memory != MAP_FAILED) offsets = memory;
            close(file);
        }
        static long offset(int clock) {
            if (clock == CLOCK_REALTIME_COARSE) clock = CLOCK_REALTIME;
            if (clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_MONOTONIC_RAW) clock = CLOCK_MONOTONIC;
            return offsets && clock >= 0 && clock < clocks ? offsets[clock] : 0;
        }
        int clock_gettime(clockid_t clock, struct timespec *now) {
            int result = syscall(SYS_clock_gettime, clock, now);
            if (result == 0) now->tv_sec += offset(clock);
            return result;
        }
        int gettimeofday(struct timeval *now, void *zone) {
            struct timespec precise;
            int result = clock_gettime(CLOCK_REALTIME, &precise);
            now->tv_sec = precise.tv_sec;
            now->tv_usec = precise.tv_nsec / 1000;
            return result;
        }
        time_t time(time_t *result) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (result) *result = now.tv_sec;
            return now.tv_sec;
        }
        static int arm(int descriptor) {
            struct itimerspec time = timers[descriptor].time;
            time.it_value.tv_sec -= offset(timers[descriptor].clock);
            if (time.it_value.tv_sec < 0) time.it_value = (struct timespec){0, 1};
            return syscall(SYS_timerfd_settime, descriptor, TFD_TIMER_ABSTIME, &time, 0);
        }
        static void *follow(void *unused) {
            long former[clocks] = {0};
            for (;;) {
                nanosleep(&(struct timespec){0, 5000000}, 0);
                if (!memcmp(former, (void *)offsets, sizeof former)) continue;
                memcpy(former, (void *)offsets, sizeof former);
                pthread_mutex_lock(&lock);
                for (int i = 0; i < descriptors; i++) if (timers[i].is_used) arm(i);
                pthread_mutex_unlock(&lock);
            }
            return unused;
        }
        static void start(void) {
            pthread_t thread;
            if (offsets) pthread_create(&thread, 0, follow, 0);
        }
        int timerfd_create(int clock, int flags) {
            int descriptor = syscall(SYS_timerfd_create, clock, flags);
            pthread_once(&once, start);
            if (descriptor >= 0 && descriptor < descriptors) timers[descriptor].clock = clock, timers[descriptor].is_used = 0;
            return descriptor;
        }
        int timerfd_settime(int descriptor, int flags, const struct itimerspec *time, struct itimerspec *former) {
            if (descriptor < 0 || descriptor >= descriptors) return syscall(SYS_timerfd_settime, descriptor, flags, time, former);
            pthread_mutex_lock(&lock);
            int is_set = time->it_value.tv_sec || time->it_value.tv_nsec;
            timers[descriptor].is_used = is_set && (flags & TFD_TIMER_ABSTIME);
            timers[descriptor].time = *time;
            int result = timers[descriptor].is_used ? arm(descriptor) : syscall(SYS_timerfd_settime, descriptor, flags, time, former);
            pthread_mutex_unlock(&lock);
            return result;
        }
        """

    private let directory: TemporaryDirectory
    private let library: PreloadedLibrary

    /// What a command that is to live by the clocks begins with.
    public var wrapper: [String] { library.wrapper + ["CLOCK_OFFSETS=\(directory.file("offsets"))"] }

    /// - Parameter source: Further functions in C that take the place of others.
    public init(with source: String = "") async throws {
        library = try await PreloadedLibrary(Self.source + "\n" + source)
        directory = try TemporaryDirectory()
        for clock in 0..<clockid_t(16) { try step(clock, by: 0) }
    }

    /// Steps a clock to so many seconds from its real time.
    public func step(_ clock: clockid_t, by seconds: Int) throws {
        let descriptor = open(directory.file("offsets"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        let bytes = withUnsafeBytes(of: seconds) { Array($0) }
        try #require(pwrite(descriptor, bytes, bytes.count, Int(clock) * bytes.count) == bytes.count)
    }
}

/// A library in C that is loaded before all others of a program, and whose functions take the place of theirs.
public struct PreloadedLibrary: Sendable {
    public static let canBeBuilt = access("/usr/bin/cc", X_OK) == 0

    private let directory: TemporaryDirectory

    /// What a command with the library begins with.
    public var wrapper: [String] { ["/usr/bin/env", "LD_PRELOAD=\(directory.file("library.so"))"] }

    public init(_ source: String) async throws {
        directory = try TemporaryDirectory()
        try Files.write(source, to: directory.file("library.c"))
        let specification = ProcessSpecification(
            executable: "/usr/bin/cc",
            arguments: ["-shared", "-fPIC", "-O1", "-pthread", "-o", directory.file("library.so"), directory.file("library.c")]
        )
        let status = try await withChild(specification) { await $0.waitForExit() }
        try #require(status == .exited(code: 0))
    }
}
