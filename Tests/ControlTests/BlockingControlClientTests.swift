import ConcurrencySupport
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// The client that uses the thread of its caller alone.
@Suite(.timeLimit(minutes: 1)) struct BlockingControlClientTests {
    /// Returns what comes of a client, and of what is done with it, on a thread that no task waits for meanwhile.
    private func outcome<Value: Sendable>(
        at directory: RuntimeDirectory,
        within timeout: Duration = .seconds(20),
        of body: @escaping @Sendable (inout BlockingControlClient) throws(ControlError) -> Value
    ) async throws -> Result<Value, ControlError> {
        try await blocking {
            Result { () throws(ControlError) in
                var client = try BlockingControlClient(runtimeDirectory: directory, timeout: timeout)
                return try body(&client)
            }
        }
    }

    @Test("A call gets its result, or the daemon's error, and the next call goes on")
    func calls() async throws {
        let handler = FakeHandler { operation in
            switch operation.name {
            case "tree": .success(["big": .string(String(repeating: "x", count: 300_000))])
            case "status": .failure(ControlError(.noSuchPath, "there is no /x"))
            default: .success(["op": .string(operation.name)])
            }
        }
        try await withServer(handler) { directory, _ in
            let outcomes = try await outcome(at: directory) { client throws(ControlError) in
                let several = client.call(all: [.ping]) + client.call(all: [.tree, .status(path: "/x"), .ps])
                return several + [.success(try client.call(.stop(path: "/a")))]
            }.get()
            #expect(
                outcomes == [
                    .success(["op": "ping"]), .success(["big": .string(String(repeating: "x", count: 300_000))]),
                    .failure(ControlError(.noSuchPath, "there is no /x")), .success(["op": "ps"]), .success(["op": "stop"]),
                ]
            )
        }
    }

    @Test("A client that the server has no descriptor for tries again, for as long as it may")
    func turnedAway() async throws {
        let room = DescriptorRoom(3)
        try await withServer(limiting: { $0.descriptorRoom = { room.look() } }) { directory, _ in
            let refusal = try await outcome(at: directory, within: .milliseconds(300)) { client throws(ControlError) in
                try client.call(.ping)
            }
            #expect(refusal == .failure(.takesNoConnections(at: directory.controlSocket)))
            let looks = room.looks
            async let answer = outcome(at: directory) { client throws(ControlError) in try client.call(.ping) }
            try await eventually("it's turned away") { room.looks > looks }
            room.set(1_000)
            #expect(try await answer == .success(["op": "ping"]))
        }
    }

    @Test("Many calls are carried out at the same time, and their outcomes come in the calls' order")
    func many() async throws {
        let running = Lock(0)
        let areSeveral = OneShot<Void>()
        let handler = FakeHandler { operation in
            // None ends before another one runs beside it.
            if running.withLock({
                $0 += 1; return $0
            }) > 1 {
                areSeveral.settle()
            }
            _ = await areSeveral.valueUnlessCancelled()
            running.withLock { $0 -= 1 }
            return .success(.string(operation.path ?? ""))
        }
        try await withServer(handler) { directory, _ in
            let paths = (0..<200).map { "/\($0)" }
            let outcomes = try await outcome(at: directory) { client in client.call(all: paths.map { .stop(path: $0) }) }.get()
            #expect(outcomes == paths.map { .success(.string($0)) })
        }
    }

    @Test("A call ends in time when no answer comes; the call after it gets its own answer")
    func lateAnswer() async throws {
        let answered = OneShot<Void>()
        let handler = FakeHandler { operation in
            guard operation == .tree else { return .success("ping") }
            _ = await answered.valueUnlessCancelled()
            return .success("tree")
        }
        try await withServer(handler) { directory, _ in
            let outcomes = try await outcome(at: directory) { client in
                let late = Result { () throws(ControlError) in try client.call(.tree, timeout: .milliseconds(50)) }
                answered.settle()
                return [late, Result { () throws(ControlError) in try client.call(.ping, timeout: .seconds(50)) }]
            }.get()
            #expect(throws: ControlError.self) { try outcomes[0].get() }
            #expect((try? outcomes[1].get()) == "ping")
        }
    }

    @Test("Without a daemon, with one of another protocol, and with one that doesn't answer, the error tells which")
    func noDaemon() async throws {
        let temporary = try TemporaryDirectory()
        let directory = RuntimeDirectory(path: temporary.path)
        #expect(try await outcome(at: directory) { _ in }.failure?.code == .unreachable)
        let listener = try RawSocket(listeningAt: directory.controlSocket)
        // It takes the connection and says nothing.
        #expect(try await outcome(at: directory, within: .milliseconds(200)) { _ in }.failure?.code == .timedOut)
        async let accepted: Void = {
            // The connections that wait, the last of which is the next client's.
            for _ in 0..<2 {
                let connection = try await listener.accept()
                // What a peer hasn't read when it closes resets the connection.
                _ = try await connection.read(8)
                try? await connection.write(Array("HTTP/1.1 400 Bad Request".utf8))
            }
        }()
        #expect(try await outcome(at: directory) { _ in }.failure?.code == .failed)
        try await accepted
    }

    @Test("A refusal of the connection is the error of the call")
    func refusal() async throws {
        try await withServer(allowedUserIDs: []) { directory, _ in
            let refused = try await outcome(at: directory) { client throws(ControlError) in try client.call(.ping) }
            #expect(refused.failure?.code == .notPermitted)
        }
    }

    @Test("A request that is too large isn't sent")
    func largeRequest() async throws {
        try await withServer { directory, _ in
            let large = String(repeating: "x", count: ControlServer.maximumRequestSize)
            let refused = try await outcome(at: directory) { client throws(ControlError) in
                try client.call(.send(path: "/a", message: "M", payload: .string(large)))
            }
            #expect(refused.failure?.code == .invalidRequest)
        }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
