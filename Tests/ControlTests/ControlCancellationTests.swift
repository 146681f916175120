import ConcurrencySupport
import NNG
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// Requests that are cancelled or abandoned, and requests that are made twice.
@Suite(.timeLimit(minutes: 1)) struct ControlCancellationTests {
    /// Waits in the handler until it is cancelled, or until `release` is set.
    private struct Waiting {
        let began = OneShot<Void>()
        let release = OneShot<Void>()
        let ended = OneShot<String>()

        func handler() -> FakeHandler {
            FakeHandler { [self] operation in
                if case .ping = operation { return .success(nil) }
                began.settle()
                let released = await release.valueUnlessCancelled() != nil
                ended.settle(released ? "released" : "cancelled")
                return .success(["path": "/a", "state": "active", "incarnation": 2])
            }
        }
    }

    @Test("A cancelled question is cancelled in the daemon")
    func aCancelledQuestionIsCancelledInTheDaemon() async throws {
        let waiting = Waiting()
        try await withServer(waiting.handler()) { directory, _ in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            let call = Task { await failure { () throws(ControlError) in try await client.ask("/a", "M", timeout: .seconds(30)) } }
            _ = await waiting.began.valueUnlessCancelled()
            call.cancel()
            #expect(await call.value?.code == .cancelled)
            #expect(await waiting.ended.valueUnlessCancelled() == "cancelled")
            try await client.ping()
        }
    }

    @Test("A call without an answer throws after its time-out")
    func theTimeOutOfACall() async throws {
        let waiting = Waiting()
        try await withServer(waiting.handler()) { directory, _ in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            let error = await failure { () throws(ControlError) in try await client.call(.tree, timeout: .seconds(1)) }
            #expect(error?.code == .timedOut)
            #expect(
                error?.message
                    == "no answer from the daemon at \(directory.controlSocket) within 1s; it may still be carrying the request out"
            )
            #expect(await waiting.ended.valueUnlessCancelled() == "cancelled")
        }
    }

    @Test("A question is cancelled when its requester goes away")
    func aQuestionEndsWithItsRequester() async throws {
        let waiting = Waiting()
        try await withServer(waiting.handler()) { directory, _ in
            let client = try await RawClient(directory)
            try await client.say(#"{"v":1,"id":1,"op":"ask","path":"/a","message":"M"}"#)
            _ = await waiting.began.valueUnlessCancelled()
            client.connection.close()
            #expect(await waiting.ended.valueUnlessCancelled() == "cancelled")
        }
    }

    @Test("A change outlives its requester, and isn't made twice under one request ID")
    func aChangeOutlivesItsRequesterAndIsNotMadeTwice() async throws {
        let waiting = Waiting()
        let handler = waiting.handler()
        try await withServer(handler) { directory, _ in
            let first = try await RawClient(directory)
            try await first.say(#"{"v":1,"id":1,"op":"restart","path":"/a","request_id":"r1"}"#)
            _ = await waiting.began.valueUnlessCancelled()
            first.connection.close()

            // The same request again while it is under way, and twice.
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            async let second = client.call(.restart(path: "/a"), requestID: "r1")
            async let third = client.call(.restart(path: "/a"), requestID: "r1")
            try await client.ping()
            waiting.release.settle()
            let answers = try await [second, third]
            #expect(answers.map { $0["incarnation"] } == [2, 2])
            #expect(await waiting.ended.valueUnlessCancelled() == "released")

            // And when it is over.
            let fourth = try await client.call(.restart(path: "/a"), requestID: "r1")
            #expect(fourth == answers[0])
            let other = await failure { () throws(ControlError) in try await client.call(.stop(path: "/a"), requestID: "r1") }
            #expect(other?.code == .invalidRequest && other?.message.contains("r1 was used for another request") == true)
        }
        #expect(handler.operations.filter { $0 != .ping } == [.restart(path: "/a")])
    }

    private static let messages = [
        ControlOperation.ask(path: "/a", message: "M", payload: [:], timeout: .seconds(5)),
        .trace(path: "/a", message: "M", payload: [:], timeout: .seconds(5)),
    ]

    /// Requests a message as "r1", and closes the connection when its handler has begun.
    private func leave(_ message: ControlOperation, in directory: RuntimeDirectory, after began: OneShot<Void>) async throws {
        let requester = try await RawClient(directory)
        try await requester.say(String(decoding: ControlRequest(id: 1, operation: message, requestID: "r1").bytes(), as: UTF8.self))
        _ = await began.valueUnlessCancelled()
        requester.connection.close()
    }

    @Test("A message that was cancelled with its requester isn't delivered again under its request ID", arguments: messages)
    func aMessageIsNotDeliveredTwice(_ message: ControlOperation) async throws {
        let began = OneShot<Void>()
        let handler = FakeHandler { _ in
            began.settle()
            try? await untilCancelled()
            return .failure(ControlError(.cancelled, "cancelled"))
        }
        try await withServer(handler) { directory, _ in
            try await leave(message, in: directory, after: began)
            // While it's being cancelled, and when that is over.
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            for _ in 1...2 {
                let again = await failure { () throws(ControlError) in try await client.call(message, requestID: "r1") }
                #expect(again?.code == .cancelled && again?.maybeExecuted == true, "\(String(describing: again))")
            }
        }
        #expect(handler.operations == [message])
    }

    @Test("A message of which no handler has begun when it was cancelled is delivered when it's requested again", arguments: messages)
    func aMessageIsDeliveredOnce(_ message: ControlOperation) async throws {
        let began = OneShot<Void>()
        let handler = FakeHandler { _ in
            guard began.settle() else { return .success("done") }
            try? await untilCancelled()
            return .failure(ControlError(.failed, "the mailbox is full", maybeExecuted: false))
        }
        try await withServer(handler) { directory, _ in
            try await leave(message, in: directory, after: began)
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            try await eventually("it's delivered") { try? await client.call(message, requestID: "r1") == "done" }
        }
        #expect(handler.operations == [message, message])
    }

    @Test(
        "A pause or a resumption isn't made twice under one request ID",
        arguments: [ControlOperation.pause(path: "/a"), .resume(path: "/a")]
    )
    func aPauseAndItsEndAreNotMadeTwice(operation: ControlOperation) async throws {
        let handler = FakeHandler()
        try await withServer(handler) { directory, _ in
            // Each on a connection of its own, as after one that broke.
            for _ in 0..<2 {
                let client = try await ControlClient.connect(runtimeDirectory: directory)
                let answer = try await client.call(operation, requestID: "r1")
                #expect(answer == ["op": .string(operation.name)])
            }
        }
        #expect(handler.operations == [operation])
    }

    @Test("Asks without a request ID don't make the daemon forget another operator's change")
    func asksWithoutARequestIDDisplaceNoChange() async throws {
        let handler = FakeHandler()
        try await withServer(handler) { directory, _ in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            _ = try await client.call(.restart(path: "/a"), requestID: "r1")
            // More than the outcomes that the daemon remembers.
            for _ in 0..<1_100 {
                _ = try await client.callOnce(.ask(path: "/a", message: "M", payload: [:], timeout: .seconds(20)))
            }
            _ = try await client.call(.restart(path: "/a"), requestID: "r1")
            #expect(!client.hasEnded)
        }
        #expect(handler.operations.count { $0 == .restart(path: "/a") } == 1)
    }

    @Test("A change without a given request ID is made each time")
    func requestsWithoutAnIDOfTheirOwnAreMadeEachTime() async throws {
        let handler = FakeHandler { _ in .success(["path": "/a", "state": "active", "incarnation": 1]) }
        try await withServer(handler) { directory, _ in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            _ = try await client.restart("/a")
            _ = try await client.restart("/a")
        }
        #expect(handler.operations.count == 2)
    }

    @Test("A cancellation names the request, and its answer tells whether there was one")
    func cancelNamesTheRequest() async throws {
        let waiting = Waiting()
        try await withServer(waiting.handler()) { directory, _ in
            let client = try await RawClient(directory)
            try await client.say(#"{"v":1,"id":1,"op":"restart","path":"/a","request_id":"r1"}"#)
            _ = await waiting.began.valueUnlessCancelled()
            try await client.say(#"{"v":1,"id":2,"op":"cancel","target":9}"#, andHear: #"{"id":2,"result":{"cancelled":false},"v":1}"#)
            try await client.say(#"{"v":1,"id":3,"op":"cancel","target":1}"#)
            let answers = try await Set([client.hear(), client.hear()])
            #expect(answers.contains(#"{"id":3,"result":{"cancelled":true},"v":1}"#))
            #expect(await waiting.ended.valueUnlessCancelled() == "cancelled")
        }
    }

    @Test("A daemon that goes away during a call is unreachable")
    func aDaemonThatDiesMidCallIsUnreachable() async throws {
        let temporary = try TemporaryDirectory()
        let directory = RuntimeDirectory(path: temporary.path)
        let listener = try StreamListener("ipc://" + directory.controlSocket)
        async let daemon: Void = {
            let connection = try await PairConnection.negotiate(try await listener.accept())
            _ = try await connection.receive()
            connection.close()
        }()
        let client = try await ControlClient.connect(runtimeDirectory: directory)
        let error = await failure { () throws(ControlError) in try await client.tree() }
        #expect(error?.code == .unreachable)
        #expect(error?.message.hasPrefix("the daemon at \(directory.controlSocket) went away before it answered") == true)
        try await daemon
        let next = await failure { () throws(ControlError) in try await client.ping() }
        #expect(next?.code == .unreachable)
        withExtendedLifetime(temporary) {}
    }

    @Test("A cancelled server cancels its handlers")
    func aServerThatIsCancelledCancelsItsHandlers() async throws {
        let temporary = try TemporaryDirectory()
        let directory = RuntimeDirectory(path: temporary.path)
        let waiting = Waiting()
        let server = ControlServer(path: directory.controlSocket, handler: waiting.handler())
        try server.listen()
        let running = Task { try await server.run() }
        let client = try await ControlClient.connect(runtimeDirectory: directory)
        let call = Task { await failure { () throws(ControlError) in try await client.restart("/a") } }
        _ = await waiting.began.valueUnlessCancelled()
        running.cancel()
        try await running.value
        #expect(await waiting.ended.valueUnlessCancelled() == "cancelled")
        // Whether the cancelled request's answer or the end of the connection comes first is open.
        let code = await call.value?.code
        #expect(code == .unreachable || code == .cancelled)
        #expect(Files.names(in: temporary.path) == ["control.lock"])
    }

    @Test("A closing server answers open requests")
    func closingLetsWhatWasAskedBeAnswered() async throws {
        let waiting = Waiting()
        try await withServer(waiting.handler(), grace: .seconds(30)) { directory, server in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            async let answer = client.restart("/a")
            _ = await waiting.began.valueUnlessCancelled()
            server.close()
            waiting.release.settle()
            let result = try await answer
            #expect(result == LifecycleResult(path: "/a", state: "active", incarnation: 2))
        }
    }

    @Test("A closing server doesn't wait for a request beyond its grace")
    func closingDoesNotWaitForWhatNeverEnds() async throws {
        let waiting = Waiting()
        let start = ContinuousClock.now
        try await withServer(waiting.handler()) { directory, server in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            let call = Task { await failure { () throws(ControlError) in try await client.restart("/a") } }
            _ = await waiting.began.valueUnlessCancelled()
            server.close()
            #expect(await call.value != nil)
        }
        #expect(ContinuousClock.now - start < .seconds(20))
        #expect(await waiting.ended.valueUnlessCancelled() == "cancelled")
    }

    private static func begin(_ ledger: RequestLedger, _ id: String, _ operation: ControlOperation, _ peer: ControlPeer) -> String {
        switch ledger.openEntry(id, operation, of: peer) {
        case .execute: "execute"
        case .join(let outcome):
            switch outcome.outcome {
            case nil: "open"
            case .success?: "join"
            case .failure(let error)?: error.message.contains("isn't kept") ? "not kept" : "\(error.code)"
            }
        case .conflict: "conflict"
        }
    }

    @Test("The ledger forgets the oldest ended change of the peer that has most")
    func theLedgerForgetsTheOldestThatEnded() {
        let ledger = RequestLedger(capacity: 3)
        let (greedy, other) = (ControlPeer.user(1), ControlPeer.node("a"))
        func begin(_ id: String, _ peer: ControlPeer = .user(1)) -> String { Self.begin(ledger, id, .stop(path: "/a"), peer) }
        #expect(begin("other", other) == "execute")
        ledger.end("other", .success(nil))
        #expect(["open", "a", "b", "c"].map { begin($0, greedy) } == ["execute", "execute", "execute", "execute"])
        for id in ["a", "b", "c"] { ledger.end(id, .success(nil)) }
        // The one that is open is older than all of them, and the other peer's too.
        #expect(["open", "other", "b", "c", "a"].map { begin($0) } == ["open", "join", "join", "join", "execute"])
        // What was cancelled is forgotten with proof alone that nothing was executed.
        ledger.end("a", .failure(ControlError(.cancelled, "", maybeExecuted: false)))
        #expect(begin("a") == "execute")
        ledger.end("a", .failure(ControlError(.notHere, "")))
        #expect(begin("a") == "execute")
        ledger.end("a", .failure(ControlError(.cancelled, "", maybeExecuted: true)))
        #expect(begin("a") == "cancelled")
    }

    @Test("The ledger keeps no payload, and outcomes up to a number of bytes; what it doesn't keep isn't carried out again")
    func theLedgerKeepsBytes() {
        let ledger = RequestLedger(maximumBytes: 1_000)
        let (greedy, other) = (ControlPeer.user(1), ControlPeer.node("a"))
        let large = JSONValue.string(String(repeating: "x", count: 400))
        func make(_ id: String, _ peer: ControlPeer, _ outcome: RequestLedger.Outcome) {
            #expect(Self.begin(ledger, id, .stop(path: "/a"), peer) == "execute")
            ledger.end(id, outcome)
        }
        make("other", other, .success(large))
        for number in 0..<20 { make("\(number)", greedy, number == 3 ? .failure(ControlError(.failed, "\(large)")) : .success(large)) }
        #expect(ledger.bytes <= 1_000)
        func again(_ id: String) -> String { Self.begin(ledger, id, .stop(path: "/a"), greedy) }
        #expect(again("19") == "join" && again("other") == "join")
        // Another user isn't told of it.
        #expect(Self.begin(ledger, "19", .stop(path: "/a"), .user(2)) == "conflict")
        #expect((0..<19).allSatisfy { again("\($0)") == "not kept" })
        // The rest of a message's time isn't what tells it from another one.
        func ask(_ timeout: Duration, _ payload: JSONValue = ["number": 1]) -> ControlOperation {
            .ask(path: "/a", message: "Add", payload: payload, timeout: timeout)
        }
        for (operation, found) in [
            (ask(.seconds(5)), "execute"), (ask(.seconds(3)), "open"), (ask(.seconds(5), ["number": 2]), "conflict"),
            (.send(path: "/a", message: "Add", payload: ["number": 1]), "conflict"),
        ] { #expect(Self.begin(ledger, "ask", operation, greedy) == found) }
    }
}
