import ConcurrencySupport
import NNG
import TestSupport
import Testing

/// Somebody between two ends of an encrypted connection, and ends that aren't ours.
@Suite("Encryption with others", .serialized, .timeLimit(minutes: 1))
struct EncryptionStrangerTests {
    /// Passes bytes on between two ends, and can spoil them.
    private final class Middle: Sendable {
        enum Deed {
            case passOn, change, cut
        }

        let deed = Lock(Deed.passOn)
        private let listener: StreamListener
        private let target: String

        init(before port: Int) throws {
            listener = try StreamListener("tcp://127.0.0.1:0")
            target = "tcp://127.0.0.1:\(port)"
        }

        var port: Int? { listener.port }

        func passOn() async throws {
            let dialler = try await listener.accept()
            let other = try await ByteStream.dial(target)
            await withDiscardingTaskGroup { group in
                group.addTask { await self.pump(dialler, other) { self.deed.withLock { $0 } } }
                group.addTask { await self.pump(other, dialler) { .passOn } }
            }
        }

        private func pump(_ source: ByteStream, _ target: ByteStream, deed: () -> Deed) async {
            while var bytes = try? await source.receive(upTo: 1 << 16) {
                let deed = deed()
                switch deed {
                case .passOn: break
                case .change: bytes[bytes.count - 1] ^= 1
                case .cut: bytes.removeLast(7)
                }
                guard (try? await target.send(bytes)) != nil, deed != .cut else { break }
            }
            source.close()
            target.close()
        }
    }

    @Test("What somebody changes or cuts on the way isn't delivered, not even a part of it", arguments: [true, false])
    func tampering(isChanged: Bool) async throws {
        let certificates = try await Certificates("a", "b")
        let listener = try StreamListener("tls+tcp://127.0.0.1:0", security: try EncryptionTests.security(certificates, "b"))
        let middle = try Middle(before: try #require(listener.port))
        let passing = Task { try await middle.passOn() }
        async let accepting = PairConnection.negotiate(listener.accept())
        let url = "tls+tcp://127.0.0.1:\(try #require(middle.port))"
        let dialled = try await PairConnection.dial(url, security: (try EncryptionTests.security(certificates, "a"), "b"))
        let accepted = try await accepting
        try await dialled.send([1, 2, 3])
        #expect(try await accepted.receive() == [1, 2, 3])
        middle.deed.withLock { $0 = isChanged ? .change : .cut }
        try await dialled.send([UInt8](repeating: 7, count: 1000))
        #expect(await code { () async throws(NNGError) in try await accepted.receive() } == (isChanged ? .cryptography : .connectionShut))
        #expect(await code { () async throws(NNGError) in try await dialled.receive() } != nil)
        dialled.close()
        try await passing.value
    }

    @Test("Bytes that are no TLS are refused")
    func noTLS() async throws {
        let certificates = try await Certificates("a", "b")
        let listener = try StreamListener("tls+tcp://127.0.0.1:0", security: try EncryptionTests.security(certificates, "b"))
        let stranger = try await ByteStream.dial("tcp://127.0.0.1:\(try #require(listener.port))")
        let accepted = try await listener.accept()
        try await stranger.send(Array("GET / HTTP/1.1\r\nHost: b\r\n\r\n".utf8))
        #expect(await code { () async throws(NNGError) in try await PairConnection.negotiate(accepted) } == .cryptography)
    }

    /// A program of Python's, whose TLS is OpenSSL.
    ///
    /// It sends the greeting and a message, a byte in each record, returns the answer's body, and says that it ends.
    private static let program = """
        import socket, ssl, struct, sys
        directory, port = sys.argv[1:]
        context = ssl.create_default_context(cafile=directory + "/ca.crt")
        context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
        context.load_cert_chain(directory + "/a.crt", directory + "/a.key")
        stream = context.wrap_socket(socket.create_connection(("127.0.0.1", int(port))), server_hostname="b", suppress_ragged_eofs=False)
        def read(count):
            data = b""
            while len(data) < count:
                more = stream.recv(count - len(data))
                if not more: raise EOFError(len(data))
                data += more
            return data
        for byte in b"\\0SP\\0\\0\\x10\\0\\0" + b"\\1" + struct.pack(">Q", 5) + b"hello":
            stream.send(bytes([byte]))
        assert read(8) == b"\\0SP\\0\\0\\x10\\0\\0"
        kind, length = struct.unpack(">BQ", read(9))
        assert kind == 1
        body = read(length)
        assert stream.recv(1) == b"", "the end wasn't said"
        sys.stdout.write("%d %d" % (length, sum(body)))
        """

    @Test("Another library's end understands this one, to its end")
    func otherLibrary() async throws {
        let certificates = try await Certificates("a", "b")
        let listener = try StreamListener("tls+tcp://127.0.0.1:0", security: try EncryptionTests.security(certificates, "b"))
        let port = try #require(listener.port)
        async let program = BuiltProgram(path: "/usr/bin/env").run(["python3", "-c", Self.program, certificates.directory, "\(port)"])
        let accepted = try await PairConnection.negotiate(listener.accept())
        #expect(try await accepted.receive() == Array("hello".utf8))
        try await accepted.send([UInt8](repeating: 1, count: 100_000))
        accepted.close()
        let ended = try await program
        #expect(ended.exitCode == 0, "\(ended)")
        #expect(ended.output == "100000 100000")
    }
}
