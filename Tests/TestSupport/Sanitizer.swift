import Glibc
public import Testing

/// A sanitizer that the tests are built for (`Deploy/test --sanitize thread` or `address`).
public enum Sanitizer: Sendable {
    /// Finds data races. Everything takes several times as long and as much memory.
    case thread
    /// Finds uses of memory that isn't there. Everything takes a few times as long and as much memory, and terabytes of addresses.
    case address

    /// The sanitizer of this build.
    public static let current: Sanitizer? = {
        #if COORDINATORS_SANITIZE_THREAD
        .thread
        #elseif COORDINATORS_SANITIZE_ADDRESS
        .address
        #else
        nil
        #endif
    }()

    /// Whether this build is for a sanitizer.
    public static var isOn: Bool { current != nil }

    /// The factor of every time limit that the speed of the machine, and not the library, decides about.
    public static var slowness: Int { isOn ? 10 : 1 }

    /// The sanitizer's options, for a program that doesn't inherit the environment.
    public static let environment: [String: String] = {
        let options: [(String, String)] = ["TSAN_OPTIONS", "ASAN_OPTIONS"].compactMap { (name: String) in
            getenv(name).map { (name, String(cString: $0)) }
        }
        return Dictionary(uniqueKeysWithValues: options)
    }()
}

extension Duration {
    /// A time limit for what takes at most this long on a slow machine; with a sanitizer it's several times as long.
    ///
    /// Only for limits. A time that the library is given, or that it must keep, is a plain duration.
    public static func patient(_ limit: Duration) -> Duration { limit * Sanitizer.slowness }
}

extension Trait where Self == TimeLimitTrait {
    /// A time limit of each test; with a sanitizer it's several times as long.
    public static func timeLimit(minutes: Int) -> Self { .timeLimit(.minutes(minutes * Sanitizer.slowness)) }
}
