import WireProtocol

/// The steps between a message and a batch of frames.
enum Coding {
    private struct Order: Codable {
        struct Line: Codable {
            var article: String
            var quantity: Int
            var price: Double
        }

        var number: Int
        var customer: String
        var note: String?
        var isPaid: Bool
        var lines: [Line]

        static let sample = Order(
            number: 123_456,
            customer: "Ada Lovelace",
            note: nil,
            isPaid: true,
            lines: (1...4).map { Line(article: "article \($0)", quantity: $0, price: 1.5) }
        )
    }

    private static let ask = Frame(
        .ask(Ask(target: 0, sender: 3, message: 5, timeoutMicroseconds: 5_000_000, payload: Bytes(repeating: 120, count: 64))),
        correlation: 77,
        codec: .compact
    )

    static func encode(_ count: Int) throws {
        for _ in 0..<count { use(try CompactEncoder().encode(Order.sample)) }
    }

    static func decode(_ count: Int) throws {
        let bytes = try CompactEncoder().encode(Order.sample)
        for _ in 0..<count { use(try CompactDecoder().decode(Order.self, from: bytes)) }
    }

    static func encodeFrames(_ count: Int) {
        var batch: [UInt8] = []
        for _ in 0..<count {
            batch.removeAll(keepingCapacity: true)
            FrameEncoder.append(ask, to: &batch)
            use(batch.count)
        }
    }

    static func decodeFrames(_ count: Int) throws {
        var batch: [UInt8] = []
        FrameEncoder.append(ask, to: &batch)
        for _ in 0..<count {
            var decoder = FrameDecoder(batch)
            use(try decoder.next())
        }
    }

    /// Keeps the optimizer from leaving out what makes a value.
    @inline(never)
    private static func use<Value>(_ value: Value) {
        withExtendedLifetime(value) {}
    }
}
