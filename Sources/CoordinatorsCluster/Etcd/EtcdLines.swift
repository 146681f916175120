import AsyncHTTPClient
import NIOCore

/// The lines of an answer that goes on.
///
/// `@unchecked`: one task at a time reads, that of the watch's present call.
final class EtcdLines: @unchecked Sendable {
    /// The longest line: a revision with all its entries.
    private static let limit = 64 << 20

    private var body: HTTPClientResponse.Body.AsyncIterator
    private var buffer = ByteBuffer()

    init(_ body: HTTPClientResponse.Body) { self.body = body.makeAsyncIterator() }

    /// Waits for the next line; `nil` at the end of the answer.
    func next() async throws -> [UInt8]? {
        var searched = 0
        while true {
            if let end = buffer.readableBytesView.dropFirst(searched).firstIndex(of: UInt8(ascii: "\n")) {
                let line = buffer.readBytes(length: end - buffer.readerIndex)
                buffer.moveReaderIndex(forwardBy: 1)
                buffer.discardReadBytes()
                return line
            }
            searched = buffer.readableBytes
            guard searched <= Self.limit else { throw EtcdFault.unintelligible("a line without an end") }
            guard var chunk = try await body.next() else { return nil }
            buffer.writeBuffer(&chunk)
        }
    }
}
