import ConcurrencySupport
import NNG
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// A handler that carries requests out as the test defines, and records them.
final class FakeHandler: ControlHandler {
    private let body: @Sendable (ControlOperation) async -> Result<JSONValue, ControlError>
    private let items: [JSONValue]
    private let seen = Lock<[ControlOperation]>([])
    private let notCarriedOut = Lock<[ControlOperation]>([])

    /// - Parameter items: What a stream has.
    init(
        items: [JSONValue] = [],
        _ body: @escaping @Sendable (ControlOperation) async -> Result<JSONValue, ControlError> = { .success(["op": .string($0.name)]) }
    ) {
        (self.items, self.body) = (items, body)
    }

    var operations: [ControlOperation] { seen.withLock { $0 } }
    /// The operations that the server has refused.
    var refusals: [ControlOperation] { notCarriedOut.withLock { $0 } }

    func handle(_ operation: ControlOperation, from requester: Requester) async throws(ControlError) -> JSONValue {
        seen.withLock { $0.append(operation) }
        return try await body(operation).get()
    }

    /// Ends every stream after its items, with the result of the operation.
    func stream(
        _ operation: ControlOperation,
        from requester: Requester,
        to writer: ItemWriter
    ) async throws(ControlError) -> JSONValue {
        // A client may leave because of an item.
        seen.withLock { $0.append(operation) }
        if !items.isEmpty { try await writer.send(items) }
        return try await body(operation).get()
    }

    func refused(_ operation: ControlOperation, from requester: Requester, _ error: ControlError) {
        notCarriedOut.withLock { $0.append(operation) }
    }
}

extension ControlOperation {
    /// One or more of each name.
    static let samples: [ControlOperation] = [
        .flows(path: "/"), .flows(path: "/a", selection: "parked", after: "/a/b", limit: 3), .flow(path: "/a/b"),
        ControlOperation.FlowRetry.at("/a/b"), ControlOperation.FlowSkip.at("/a/b"), .flowSkip(path: "/a/b", page: 3, state: ["b": 1]),
        ControlOperation.FlowState.at("/a/b"), .flowCancel(path: "/a/b", reason: "sold out"),
        ControlOperation.FlowResume.at("/a/b"),
        .tree, .ps, .deadLetters, .metrics, .ping, .shutdown(), .shutdown(now: true), .status(path: "/a"), .start(path: "/a"),
        .stop(path: "/a/b"), .restart(path: "/"), ControlOperation.Restart.at("/a", life: 3),
        .kill(path: "/ä"), .pause(path: "/a"), .resume(path: "/a"), .reload(path: "/a"),
        .ask(path: "/a", message: "M", payload: ["k": [1, 2.5, nil, true, "x"]], timeout: .milliseconds(1500)),
        .send(path: "/a", message: "M", payload: .null), .signal(path: "/a", signal: 15),
        .trace(path: "/a", message: "M", payload: [1], timeout: .milliseconds(20)),
        .configurationDifference(file: nil), .configurationDifference(file: "/a.yaml"), .configurationApplication(file: nil),
        .configurationApplication(file: "/a.yaml"),
        .logs(LogQuery(paths: ["/a"], lines: 3)), .events(EventQuery(after: 1)), .history(path: "/a"),
        .replace(path: "/a"), .replacements(path: "/a"), .scale(path: "/a", instances: 3), .nodes, .location(path: "/a"),
        .drain(node: "a", isDraining: true), .drain(node: "a", isDraining: false), .move(path: "/a", node: "b"),
        .move(path: "/a", node: nil), .onNode("b", .ps), .onNode("b", .deadLetters), .onNode("b", .metrics),
        .upgrade(executable: "/a/coordinatord", wait: .milliseconds(20), isDryRun: true), .upgrade(executable: nil, wait: .zero),
    ]
}

/// Runs a server while `body` runs.
///
/// - Parameter place: The runtime directory, in which another server may have been before; nil: one of its own.
func withServer(
    _ handler: some ControlHandler = FakeHandler(),
    at place: RuntimeDirectory? = nil,
    allowedUserIDs: Set<UInt32>? = nil,
    groups: [UInt32: OperatorRole] = [:],
    grace: Duration = .seconds(2),
    limiting: (inout ConnectionLimits) -> Void = { _ in },
    _ body: (RuntimeDirectory, ControlServer) async throws -> Void
) async throws {
    let temporary = try TemporaryDirectory()
    let directory = place ?? RuntimeDirectory(path: temporary.path + "/run")
    var limits = ConnectionLimits()
    // A machine that stands still for a while is no reason for a test to fail.
    limits.handshakeTimeout = .seconds(60)
    limiting(&limits)
    let server = ControlServer(
        path: directory.controlSocket,
        handler: handler,
        allowedUserIDs: allowedUserIDs,
        groups: groups,
        grace: grace,
        limits: limits
    )
    // A process that was spawned just now has a copy of the former server's lock for a moment.
    if place != nil { try await eventually("\(directory.path) is free") { (try? server.listen()) != nil } }
    try server.listen()
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await server.run() }
        defer { server.close() }
        try await body(directory, server)
        server.close()
        try await group.waitForAll()
    }
    withExtendedLifetime(temporary) {}
}

/// The number of descriptors that a server has room for, by the test's word.
final class DescriptorRoom: Sendable {
    private let state: Lock<(room: Int, looks: Int)>

    init(_ room: Int) { state = Lock((room, 0)) }

    /// The number of times that the server has looked.
    var looks: Int { state.withLock { $0.looks } }

    func set(_ room: Int) { state.withLock { $0.room = room } }

    func look() -> Int {
        state.withLock { state in
            state.looks += 1
            return state.room
        }
    }
}

/// A client that sends any text.
struct RawClient {
    let connection: PairConnection

    init(_ directory: RuntimeDirectory) async throws {
        connection = try await PairConnection.dial("ipc://" + directory.controlSocket, timeout: .seconds(60))
    }

    func say(_ text: String) async throws {
        try await connection.send(Array(text.utf8))
    }

    func hear() async throws -> String {
        String(decoding: try await connection.receive(), as: UTF8.self)
    }

    func say(_ text: String, andHear answer: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await say(text)
        let heard = try await hear()
        #expect(heard == answer, sourceLocation: sourceLocation)
    }
}

/// Returns the error that `body` throws.
func failure(of body: () async throws(ControlError) -> some Any) async -> ControlError? {
    do throws(ControlError) {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}
