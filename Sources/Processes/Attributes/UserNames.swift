import ConcurrencySupport
import Glibc

/// The names of users, which are looked up once.
///
/// A look-up may ask a directory service, which needn't answer: it's waited for once and for a short time, and until it has ended the user has
/// no name.
package final class UserNames: Sendable {
    /// The names by the users' numbers; nil while a look-up lasts, and of a user without a name.
    private let names = Lock<[UInt32: String?]>([:])

    package init() {}

    /// Returns the name of a user; nil when there is none, or none yet.
    package func name(of user: UInt32) -> String? {
        let (isKnown, known) = names.withLock { names -> (Bool, String?) in
            defer { names[user] = .some(names[user] ?? nil) }
            return (names[user] != nil, names[user] ?? nil)
        }
        if isKnown { return known }
        let isDone = DetachedThread.run(waitingFor: .milliseconds(200)) { [self] in
            let name = Self.lookUp(user)
            names.withLock { $0[user] = .some(name) }
        }
        guard isDone == true else { return nil }
        return names.withLock { $0[user] ?? nil }
    }

    private static func lookUp(_ user: UInt32) -> String? {
        var entry = passwd()
        var result: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        // Unsafe: the entry points into the buffer, and is read while the buffer stays.
        return buffer.withUnsafeMutableBufferPointer { buffer -> String? in
            guard let base = buffer.baseAddress, getpwuid_r(user, &entry, base, buffer.count, &result) == 0, result != nil
            else { return nil }
            return entry.pw_name.map { String(cString: $0) }
        }
    }
}
