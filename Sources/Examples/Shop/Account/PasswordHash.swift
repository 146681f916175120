import Glibc
import Synchronization

/// A password's salted yescrypt hash, which is stored instead of the password.
///
/// The hashing is the system's own, crypt(3), in the form that crypt(5) describes; it takes some 25 ms and 16 MiB on purpose.
struct PasswordHash: RawRepresentable, Codable, Sendable, Equatable {
    let rawValue: String

    /// Creates a hash from its stored form.
    init(rawValue: String) { self.rawValue = rawValue }

    /// Hashes a password with a salt of its own.
    ///
    /// - Throws: `Failure` when the system doesn't support yescrypt, or the password isn't valid.
    init(of password: String) throws(Failure) {
        guard let hash = Self.crypt(password, setting: Self.method + Self.salt()) else { throw Failure() }
        rawValue = hash
    }

    /// Returns whether this is the hash of the password.
    func matches(_ password: String) -> Bool {
        Self.crypt(password, setting: rawValue) == rawValue
    }

    /// An error that reports that the password can't be hashed: it has a NUL in it or is longer than 512 bytes, or this system's crypt(3)
    /// doesn't support yescrypt.
    struct Failure: Error {}

    /// A hash that no password has.
    ///
    /// Comparing with it takes as long as with any other, so the time doesn't reveal which names are known.
    static let ofNobody = PasswordHash(rawValue: method + "........................")

    /// yescrypt at the cost that Debian uses for its own accounts.
    private static let method = "$y$j9T$"

    /// 144 random bits, in crypt(5)'s alphabet.
    private static func salt() -> String {
        let alphabet = Array("./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        return String((0..<24).map { _ in alphabet[Int.random(in: alphabet.indices)] })
    }

    // crypt(3) returns memory that the next call overwrites, so calls are made one at a time.
    private static let turn = Mutex(())

    private static func crypt(_ password: String, setting: String) -> String? {
        // C would ignore the part of the password after a NUL.
        guard !password.utf8.contains(0) else { return nil }
        return turn.withLock { _ in
            guard let hash = Glibc.crypt(password, setting) else { return nil }
            let text = String(cString: hash)
            // crypt(3) reports a failure by an asterisk at the start.
            return text.hasPrefix("*") ? nil : text
        }
    }
}
