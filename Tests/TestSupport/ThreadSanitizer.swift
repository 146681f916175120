import Glibc
public import Testing

/// The thread sanitizer (`Deploy/test --sanitize thread`), under which everything takes several times as long and as much memory.
public enum ThreadSanitizer {
    /// Whether this build is for the thread sanitizer.
    public static let isOn: Bool = {
        #if COORDINATORS_SANITIZE_THREAD
            true
        #else
            false
        #endif
    }()

    /// The factor of every time limit that the speed of the machine, and not the library, decides about.
    public static let slowness = isOn ? 10 : 1

    /// The sanitizer's options, for a program that doesn't inherit the environment.
    static let environment: [String: String] = {
        guard let options = getenv("TSAN_OPTIONS") else { return [:] }
        return ["TSAN_OPTIONS": String(cString: options)]
    }()
}

extension Duration {
    /// A time limit for what takes at most this long on a slow machine; the thread sanitizer has several times as long.
    ///
    /// Only for limits. A time that the library is given, or that it must keep, is a plain duration.
    public static func patient(_ limit: Duration) -> Duration { limit * ThreadSanitizer.slowness }
}

extension Trait where Self == TimeLimitTrait {
    /// A time limit of each test; the thread sanitizer has several times as long.
    public static func timeLimit(minutes: Int) -> Self { .timeLimit(.minutes(minutes * ThreadSanitizer.slowness)) }
}
