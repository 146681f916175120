import ConcurrencySupport
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// The client that uses the thread of its caller alone.
@Suite(.timeLimit(minutes: 1)) struct BlockingControlClientTests {
    /// Runs a function that blocks on a thread of its own, which no task waits for meanwhile.
    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        let outcome = OneShot<Value>()
        #expect(DetachedThread.run { outcome.settle(body()) })
        return await outcome.value
    }

    @Test("A call gets its result, or the daemon's error, and the next call goes on")
    func calls() async throws {
        let handler = FakeHandler { operation in
            switch operation {
            case .tree: .success(["big": .string(String(repeating: "x", count: 300_000))])
            case .status: .failure(ControlError(.noSuchPath, "there is no /x"))
            default: .success(["op": .string(operation.name)])
            }
        }
        try await withServer(handler) { directory, _ in
            let outcomes = await onThread { () -> [Result<JSONValue, ControlError>] in
                do throws(ControlError) {
                    var client = try BlockingControlClient(runtimeDirectory: directory)
                    let several = client.call(all: [.ping]) + client.call(all: [.tree, .status(path: "/x"), .ps])
                    return several + [.success(try client.call(.stop(path: "/a")))]
                } catch {
                    return [.failure(error)]
                }
            }
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
        var limits = ConnectionLimits()
        limits.descriptorRoom = { room.look() }
        try await withServer(limits: limits) { directory, _ in
            @Sendable func ping(within limit: Duration) -> Result<JSONValue, ControlError> {
                do throws(ControlError) {
                    var client = try BlockingControlClient(runtimeDirectory: directory, timeout: limit)
                    return .success(try client.call(.ping))
                } catch {
                    return .failure(error)
                }
            }
            #expect(await onThread { ping(within: .milliseconds(300)) } == .failure(.takesNoConnections(at: directory.controlSocket)))
            let looks = room.looks
            async let answer = onThread { ping(within: .seconds(20)) }
            try await eventually("it's turned away") { room.looks > looks }
            room.set(1_000)
            #expect(await answer == .success(["op": "ping"]))
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
            let outcomes = try await onThread {
                Result { () throws(ControlError) in
                    var client = try BlockingControlClient(runtimeDirectory: directory)
                    return client.call(all: paths.map { .stop(path: $0) })
                }
            }.get()
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
            let outcomes = await onThread { () -> [Result<JSONValue, ControlError>] in
                guard var client = try? BlockingControlClient(runtimeDirectory: directory) else { return [] }
                let late = Result { () throws(ControlError) in try client.call(.tree, timeout: .milliseconds(50)) }
                answered.settle()
                return [late, Result { () throws(ControlError) in try client.call(.ping) }]
            }
            #expect(outcomes.count == 2)
            #expect(throws: ControlError.self) { try outcomes[0].get() }
            #expect((try? outcomes[1].get()) == "ping")
        }
    }

    @Test("Without a daemon, with one of another protocol, and with one that doesn't answer, the error tells which")
    func noDaemon() async throws {
        let temporary = try TemporaryDirectory()
        let directory = RuntimeDirectory(path: temporary.path)
        func code(within timeout: Duration = .seconds(20)) async -> ControlError.Code? {
            await onThread { () -> ControlError.Code? in
                do throws(ControlError) {
                    _ = try BlockingControlClient(runtimeDirectory: directory, timeout: timeout)
                    return nil
                } catch {
                    return error.code
                }
            }
        }
        #expect(await code() == .unreachable)
        let listener = try RawListener(directory.controlSocket)
        // It takes the connection and says nothing.
        #expect(await code(within: .milliseconds(200)) == .timedOut)
        listener.greeting = Array("HTTP/1.1 400 Bad Request".utf8)
        async let accepted: Void = onThread { listener.acceptOnce() }
        #expect(await code() == .failed)
        await accepted
    }

    @Test("A refusal of the connection is the error of the call")
    func refusal() async throws {
        try await withServer(allowedUserIDs: []) { directory, _ in
            let error = await onThread { () -> ControlError? in
                do throws(ControlError) {
                    var client = try BlockingControlClient(runtimeDirectory: directory)
                    _ = try client.call(.ping)
                    return nil
                } catch {
                    return error
                }
            }
            #expect(error?.code == .notPermitted)
        }
    }

    @Test("A request that is too large isn't sent")
    func largeRequest() async throws {
        try await withServer { directory, _ in
            let large = String(repeating: "x", count: ControlServer.maximumRequestSize)
            let error = await onThread { () -> ControlError? in
                do throws(ControlError) {
                    var client = try BlockingControlClient(runtimeDirectory: directory)
                    _ = try client.call(.send(path: "/a", message: "M", payload: .string(large)))
                    return nil
                } catch {
                    return error
                }
            }
            #expect(error?.code == .invalidRequest)
        }
    }
}

/// A listener of the test's own, which answers what the test says.
private final class RawListener: @unchecked Sendable {
    // Unchecked: the test sets the greeting before it accepts.
    var greeting: [UInt8] = []
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        try #require(result == 0 && listen(descriptor, 5) == 0)
    }

    deinit { close(descriptor) }

    /// Answers the connections that wait, the last of which is the client's.
    func acceptOnce() {
        for _ in 0..<2 {
            let connection = accept(descriptor, nil, nil)
            // What a peer hasn't read when it closes resets the connection.
            var bytes = [UInt8](repeating: 0, count: 64)
            _ = recv(connection, &bytes, bytes.count, 0)
            _ = send(connection, greeting, greeting.count, Int32(MSG_NOSIGNAL))
            close(connection)
        }
    }
}
