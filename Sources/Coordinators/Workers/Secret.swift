import WireProtocol

/// The secret by which a worker proves that it was spawned for its link.
enum Secret {
    /// 32 bytes from the system's generator (getrandom(2) on Linux).
    static func make() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<Ticket.secretLength).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
