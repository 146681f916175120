/// The lines of an answer that goes on.
///
/// Its connection is closed when the lines are let go.
///
/// `@unchecked`: one task at a time reads, that of the watch's present call.
final class EtcdLines: @unchecked Sendable {
    /// The longest line: a revision with all its entries.
    private static let limit = 64 << 20

    private let transfer: Transfer
    /// What has come, of which `read` bytes are in lines that were delivered.
    private var buffer: [UInt8] = []
    private var read = 0

    init(_ transfer: Transfer) { self.transfer = transfer }

    deinit { transfer.end() }

    /// Waits until the answer has begun.
    func awaitFirst() async throws { buffer = try await transfer.next() ?? [] }

    /// Waits for the next line; `nil` at the end of the answer.
    func next() async throws -> [UInt8]? {
        var searched = read
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { read = end + 1 }
                return [UInt8](buffer[read..<end])
            }
            buffer.removeFirst(read)
            read = 0
            searched = buffer.count
            guard searched <= Self.limit else { throw EtcdFault.unintelligible("a line without an end") }
            guard let bytes = try await transfer.next() else { return nil }
            buffer += bytes
        }
    }

    /// Waits for what is left of the answer.
    func collect(upTo limit: Int) async throws -> [UInt8] { try await transfer.collect(after: buffer, upTo: limit) }
}
