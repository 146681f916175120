import NNG
import TestSupport
import Testing

/// Cancelling before, during and after each operation: nothing is lost, nothing hangs, nothing leaks.
@Suite("Cancellation", .serialized, .timeLimit(minutes: 1))
struct CancellationTests {
    private static let rounds = 300

    /// Cancels `task` after `round`-dependent many steps, so that the cancellation meets every phase of the operation.
    private func cancel<Value: Sendable>(_ task: Task<Value, any Error>, in round: Int) async {
        for _ in 0..<(round % 7) { await Task.yield() }
        task.cancel()
    }

    @Test func alreadyCancelled() async throws {
        let pair = try await StreamPair()
        let connections = try await Pair()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return [
                await code { () async throws(NNGError) in try await pair.dialled.receive(upTo: 1) },
                await code { () async throws(NNGError) in try await pair.dialled.send([1]) },
                await code { () async throws(NNGError) in try await pair.listener.accept() },
                await code { () async throws(NNGError) in try await ByteStream.dial(pair.directory.url()) },
                await code { () async throws(NNGError) in try await connections.dialled.receive() },
            ]
        }
        task.cancel()
        #expect(await task.value == Array(repeating: .canceled, count: 5))
    }

    @Test func receivingLosesNoByte() async throws {
        let pair = try await StreamPair()
        var received: [UInt8] = []
        var cancelled = 0
        for round in 0..<Self.rounds {
            let task = Task { try await pair.accepted.receive(upTo: 10) }
            async let sending: Void = pair.dialled.send([UInt8(truncatingIfNeeded: round)])
            await cancel(task, in: round)
            do { received += try await task.value } catch let error as NNGError {
                #expect(error.code == .canceled)
                cancelled += 1
            }
            try await sending
        }
        while received.count < Self.rounds { received += try await pair.accepted.receive(upTo: 1000) }
        #expect(received == (0..<Self.rounds).map { UInt8(truncatingIfNeeded: $0) })
        #expect(cancelled > 0)
    }

    @Test func acceptingLosesNoStream() async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        var accepted = 0
        var cancelled = 0
        for round in 0..<Self.rounds {
            let task = Task { try await listener.accept() }
            async let dialling = ByteStream.dial(directory.url())
            await cancel(task, in: round)
            let dialled = try await dialling
            do {
                try await task.value.close()
                accepted += 1
            } catch let error as NNGError {
                #expect(error.code == .canceled)
                cancelled += 1
                // The peer waits for the next accept.
                let stream = try await listener.accept()
                try await dialled.send([1])
                #expect(try await stream.receive(upTo: 1) == [1])
                stream.close()
            }
            dialled.close()
        }
        #expect(accepted + cancelled == Self.rounds)
        #expect(cancelled > 0)
        listener.close()
        #expect(await eventually { directory.socketCount == 0 })
    }

    @Test func diallingLeaksNoStream() async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        let serving = Task {
            while true { try await listener.accept().close() }
        }
        for round in 0..<Self.rounds {
            let task = Task { try await ByteStream.dial(directory.url()) }
            await cancel(task, in: round)
            do { try await task.value.close() } catch let error as NNGError { #expect(error.code == .canceled) }
        }
        listener.close()
        _ = await serving.result
        #expect(await eventually { directory.socketCount == 0 })
    }

    @Test func negotiatingLeaksNoStream() async throws {
        let (directory, listener) = try TemporaryDirectory.withListener()
        for round in 0..<Self.rounds {
            let task = Task { try await PairConnection.negotiate(listener.accept()) }
            let peer = try RawSocket(directory.file("s"))
            if round % 2 == 0 { try await peer.write(RawSocket.greeting) }
            await cancel(task, in: round)
            do {
                try await task.value.close()
            } catch let error as NNGError {
                // The peer of a round that was cancelled before its accept is in front of the queue, and gone.
                #expect(error.code == .canceled || error.code == .connectionShut || error.code == .connectionReset)
            }
            peer.close()
        }
        listener.close()
        #expect(await eventually { directory.socketCount == 0 })
    }

    @Test func receivingLosesNoMessage() async throws {
        let pair = try await Pair()
        var received: [[UInt8]] = []
        var cancelled = 0
        for round in 0..<Self.rounds {
            let task = Task { try await pair.accepted.receive() }
            async let sending: Void = pair.dialled.send(Self.body(round))
            await cancel(task, in: round)
            do { received.append(try await task.value) } catch let error as NNGError {
                #expect(error.code == .canceled)
                cancelled += 1
                // The next receive gets the message. It is taken now, since unread messages would fill the kernel's buffer, and the sender
                // would wait for ever.
                received.append(try await pair.accepted.receive())
            }
            try await sending
        }
        #expect(received == (0..<Self.rounds).map(Self.body))
        #expect(cancelled > 0)
    }

    /// Every tenth message is larger than the reader's buffer.
    private static func body(_ round: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: round), count: round % 10 == 9 ? 70_000 : 3)
    }

    @Test func sendingSendsWholeMessagesOrNone() async throws {
        let pair = try await Pair()
        let recorder = Recorder()
        recorder.attach(to: pair.accepted)
        var sent: [[UInt8]] = []
        for round in 0..<Self.rounds {
            let body = [UInt8](repeating: UInt8(truncatingIfNeeded: round), count: 1000)
            let task = Task { try await pair.dialled.send(body) }
            await cancel(task, in: round)
            do {
                try await task.value
                sent.append(body)
            } catch let error as NNGError { #expect(error.code == .canceled) }
        }
        #expect(await eventually { recorder.count == sent.count })
        #expect(recorder.messages == sent)
        pair.close()
    }

    @Test func halfAMessageThatIsTakenBackEndsTheConnection() async throws {
        let pair = try await Pair(maximumMessageSize: Pair.unholdable)
        // Begun before anything else is sent.
        let started = Task.immediate { try await pair.dialled.send([UInt8](repeating: 1, count: Pair.unholdable)) }
        // The message is larger than the kernel's buffers, and isn't read: the send is under way when it is cancelled.
        #expect(await eventually { pair.dialledIsBusy })
        started.cancel()
        let error = await #expect(throws: NNGError.self) { try await started.value }
        #expect(error?.code == .canceled)
        let end = await code { () async throws(NNGError) in try await pair.accepted.receive() }
        #expect(end == .connectionShut || end == .connectionReset)
        #expect(await code { () async throws(NNGError) in try await pair.dialled.receive() } == .canceled)
    }
}
