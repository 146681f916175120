import ConcurrencySupport
import Links
import TestSupport
import Testing
import WireProtocol

/// Peers that haven't proved who they are, and send more than silence.
@Suite("Peers before their hello", .timeLimit(minutes: 1))
struct HostilePeerTests {
    @Test("A peer that defines names before its hello is dropped, so that none are kept for strangers")
    func names() async throws {
        try await Self.withListener { path, _ in
            let names = (1...50).map { Frame(.defineName(DefineName(id: $0, text: String(repeating: "n", count: 1_024)))) }
            let stranger = try RawSocket(path)
            stranger.send(RawSocket.greeting + RawSocket.message(Self.bytes(names)))
            let second = try RawSocket(path)
            second.send(RawSocket.greeting + RawSocket.message(Self.bytes([names[0]])))
            for peer in [stranger, second] { #expect(try await peer.receiveUntilClosed() == RawSocket.greeting) }
        }
    }

    @Test("A hello that comes byte by byte, or never ends, is dropped at the time-out, and a good peer isn't delayed")
    func slowLoris() async throws {
        try await Self.withListener(timeout: .seconds(2)) { path, hellos in
            let hello = RawSocket.greeting + RawSocket.message(Self.bytes([Self.hello]))
            let slow = try (0..<50).map { try RawSocket(path, "\($0)") }
            let began = ContinuousClock.now
            var sent = 0
            while !slow.allSatisfy(\.isClosed), ContinuousClock.now < began + .seconds(20) {
                // The last byte never comes.
                if sent < hello.count - 1 { for peer in slow { peer.send([hello[sent]]) } }
                sent += 1
                let good = try RawSocket(path)
                good.send(hello)
                try await eventually("the good one's hello") { hellos() >= sent }
            }
            #expect(slow.allSatisfy { $0.isClosed })
            #expect(ContinuousClock.now - began < .patient(.seconds(10)))
            #expect(hellos() == sent, "no slow one has said hello")
        }
    }

    @Test("Silent peers of one process are limited, and those of many processes with one each aren't")
    func crowd() async throws {
        try await Self.withListener { path, _ in
            let own = try (0..<70).map { try RawSocket(path, "\($0)") }
            try await eventually("the oldest are closed") { own.prefix(6).allSatisfy(\.isClosed) }
            let script = """
                import os, socket, sys, time
                def stays():
                    peer = socket.socket(socket.AF_UNIX)
                    peer.settimeout(2)
                    peer.connect(sys.argv[1])
                    try:
                        while peer.recv(64): pass
                    except TimeoutError:
                        return True
                children = []
                for _ in range(100):
                    child = os.fork()
                    if child == 0: os._exit(0 if stays() else 1)
                    children.append(child)
                sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in children))
                """
            let ended = try await BuiltProgram(path: "/usr/bin/env").run(["python3", "-c", script, path])
            #expect(ended.exitCode == 0, "\(ended)")
            #expect(own.dropFirst(6).allSatisfy { !$0.isClosed })
        }
    }

    private static let hello = Frame(.hello(Hello(secret: [], processID: 1, processStartTime: 1, buildID: "", maximumFrameSize: 4_096)))

    private static func bytes(_ frames: [Frame]) -> [UInt8] {
        var batch: [UInt8] = []
        for frame in frames { FrameEncoder.append(frame, to: &batch) }
        return batch
    }

    /// Has a listener that welcomes every hello, and counts them.
    private static func withListener(
        timeout: Duration = .seconds(600),
        _ body: (_ path: String, _ hellos: () -> Int) async throws -> Void
    ) async throws {
        let temporary = try TemporaryDirectory()
        let path = temporary.file("links.sock")
        let listener = try LinkListener(address: "ipc://\(path)", handshakeTimeout: timeout)
        let hellos = Lock(0)
        let serving = Task {
            await listener.run { link, _ in
                hellos.withLock { $0 += 1 }
                link.hand(over: Link.Handler(frameReceived: { _, _ in }, closed: { _, _ in }))
            }
        }
        defer {
            listener.close()
            serving.cancel()
        }
        try await body(path) { hellos.withLock { $0 } }
    }
}
