import WireProtocol

/// The secret by which a worker proves that it was spawned for its link.
enum Secret {
    /// 32 bytes from the system's generator (getrandom(2) on Linux).
    static func make() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        // A word is one system call, as a byte would be.
        let words = (0..<Ticket.secretLength / 8).map { _ in generator.next() as UInt64 }
        return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }
}
