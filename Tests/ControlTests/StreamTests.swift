import ConcurrencySupport
import NNG
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// A handler whose streams send numbers as the test defines.
private final class StreamingHandler: ControlHandler {
    /// The items that a stream sends one by one; nil means that it goes on until it is cancelled.
    private let count: Int?
    private let text: String
    let sent = Lock(0)
    let ends = Lock<[ControlError.Code?]>([])

    init(count: Int?, text: String = "") { (self.count, self.text) = (count, text) }

    func handle(_ operation: ControlOperation, from requester: Requester) async throws(ControlError) -> JSONValue { [:] }

    func stream(
        _ operation: ControlOperation,
        from requester: Requester,
        to items: ItemWriter
    ) async throws(ControlError) -> JSONValue {
        do throws(ControlError) {
            var number = 0
            while number != count {
                if Task.isCancelled { throw ControlError(.cancelled, "cancelled") }
                try await items.send([["number": .integer(Int64(number)), "text": .string(text)]])
                number += 1
                sent.withLock { $0 += 1 }
            }
            ends.withLock { $0.append(nil) }
            return ["count": .integer(Int64(number))]
        } catch {
            ends.withLock { $0.append(error.code) }
            throw error
        }
    }
}

@Suite("Streams of the control protocol", .timeLimit(minutes: 3))
struct StreamTests {
    private static let events = ControlOperation.events(EventQuery())

    @Test("All items come in order, then the result")
    func whole() async throws {
        try await withServer(StreamingHandler(count: 2000)) { directory, _ in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            defer { client.close() }
            var numbers: [Int64] = []
            let result = try await client.stream(Self.events) { item throws(ControlError) in
                numbers.append(item["number"]?.integerValue ?? -1)
            }
            #expect(numbers == Array(0..<2000))
            #expect(result == ["count": 2000])
        }
    }

    @Test("On the wire: items, then a result; other requests are answered meanwhile, and `cancel` ends the stream")
    func wire() async throws {
        let handler = StreamingHandler(count: nil)
        try await withServer(handler) { directory, _ in
            let client = try await RawClient(directory)
            try await client.say(#"{"v":1,"id":1,"op":"events"}"#)
            #expect(try await client.hear() == #"{"id":1,"items":[{"number":0,"text":""}],"v":1}"#)
            try await client.say(#"{"v":1,"id":2,"op":"ping"}"#)
            try await client.say(#"{"v":1,"id":3,"op":"cancel","target":1}"#)
            var answers: Set<String> = []
            while answers.count < 3 {
                let answer = try await client.hear()
                if !answer.contains("items") { answers.insert(answer) }
            }
            #expect(answers.contains(#"{"id":2,"result":{},"v":1}"#))
            #expect(answers.contains(#"{"id":3,"result":{"cancelled":true},"v":1}"#))
            #expect(answers.contains { $0.contains(#""id":1"#) && $0.contains("cancelled") && $0.contains("error") })
            // The connection goes on.
            try await client.say(#"{"v":1,"id":1,"op":"ping"}"#, andHear: #"{"id":1,"result":{},"v":1}"#)
        }
    }

    @Test("A client that never reads: its stream waits and nothing grows; others are answered; its end ends the stream")
    func neverRead() async throws {
        let handler = StreamingHandler(count: nil, text: String(repeating: "x", count: 10_000))
        try await withServer(handler) { directory, _ in
            var deaf: RawClient? = try await RawClient(directory)
            try await deaf?.say(#"{"v":1,"id":1,"op":"events"}"#)
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            try await eventually("the stream waits") {
                let former = handler.sent.withLock { $0 }
                for _ in 0..<100 { _ = try await client.call(.ping) }
                return handler.sent.withLock { $0 } == former && former > 0
            }
            // What the kernel and both sides' buffers take.
            #expect(handler.sent.withLock { $0 } < 1000)
            client.close()
            deaf?.connection.close()
            deaf = nil
            try await eventually("the stream has ended") { handler.ends.withLock { $0.count } == 1 }
        }
    }

    @Test("A stream whose reader doesn't wait for a daemon that hangs ends with a time-out, after the items that came")
    func hanging() async throws {
        let handler = FakeHandler(items: [["number": 1]]) { _ in
            // The stream's end, and the question whether the daemon answers.
            try? await untilCancelled()
            return .failure(ControlError(.cancelled, "cancelled"))
        }
        try await withServer(handler) { directory, _ in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            defer { client.close() }
            var count = 0
            let error = await failure { () throws(ControlError) in
                try await client.stream(Self.events, untilSilent: true) { _ throws(ControlError) in count += 1 }
            }
            #expect(error?.code == .timedOut && count == 1)
            let reading = Task { try await client.stream(Self.events, untilSilent: true) { _ throws(ControlError) in } }
            try await eventually("it's read") { handler.operations.count { $0.name == "events" } == 2 }
            reading.cancel()
            let end = await #expect(throws: ControlError.self) { try await reading.value }
            #expect(end?.code == .cancelled)
        }
    }

    @Test("A stream of a client that is cancelled, and one whose function throws, end in the daemon")
    func abandoned() async throws {
        struct Enough: Error {}
        let handler = StreamingHandler(count: nil)
        try await withServer(handler) { directory, _ in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            defer { client.close() }
            let reading = Task {
                _ = try await client.stream(Self.events) { _ throws(ControlError) in }
            }
            try await eventually("it flows") { handler.sent.withLock { $0 } > 100 }
            reading.cancel()
            await #expect(throws: ControlError.self) { try await reading.value }
            try await eventually("it has ended") { handler.ends.withLock { $0 } == [.cancelled] }
            let thrown = await failure { () throws(ControlError) in
                try await client.stream(Self.events) { _ throws(ControlError) in throw ControlError(.failed, "enough") }
            }
            #expect(thrown?.message == "enough")
            try await eventually("it has ended too") { handler.ends.withLock { $0 } == [.cancelled, .cancelled] }
            _ = try await client.call(.ping)
        }
    }

    @Test("A server that closes ends its streams at once, and says that it stops")
    func closing() async throws {
        let handler = StreamingHandler(count: nil)
        try await withServer(handler) { directory, server in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            defer { client.close() }
            async let end = failure { () throws(ControlError) in
                try await client.stream(Self.events) { _ throws(ControlError) in }
            }
            try await eventually("it flows") { handler.sent.withLock { $0 } > 10 }
            server.close()
            #expect(await end?.code == .unreachable)
        }
    }

    @Test("Many streams of one connection are refused")
    func many() async throws {
        let handler = StreamingHandler(count: nil)
        try await withServer(handler) { directory, _ in
            let client = try await RawClient(directory)
            for id in 0...ControlServer.maximumOpenStreams { try await client.say(#"{"v":1,"id":\#(id),"op":"events"}"#) }
            var refusal = ""
            while refusal.isEmpty {
                let answer = try await client.hear()
                if answer.contains("error") { refusal = answer }
            }
            #expect(refusal.contains("16 streams of this connection are open"))
        }
    }

    @Test(
        "Queries read as they are written",
        arguments: [
            ControlOperation.logs(LogQuery(paths: ["/a", "/b"], lines: 5, sinceMilliseconds: 7, pattern: "x|y", follows: true)),
            .logs(LogQuery(paths: ["/"])),
            .events(EventQuery(after: 9, boot: "ab", sinceMilliseconds: 3, path: "/a", follows: true)),
            .events(EventQuery()),
            .history(path: "/a"),
        ]
    )
    func queries(_ operation: ControlOperation) throws {
        #expect(try ControlRequest(json: ControlRequest(id: 1, operation: operation).json).operation == operation)
    }

    @Test("Times read as they are written, and people's times are understood")
    func times() {
        for time: Int64 in [0, 1, 951_782_399_999_999, 951_782_400_000_000, 1_795_380_060_123_456, 4_102_444_800_000_000] {
            let text = Timestamp.text(microseconds: time)
            #expect(text.utf8.count == Timestamp.length)
            #expect(Timestamp.microseconds(of: text) == time)
        }
        #expect(Timestamp.text(microseconds: 951_782_400_000_000) == "2000-02-29T00:00:00.000000Z")
        #expect(Timestamp.microseconds(of: "2000-02-29") == 951_782_400_000_000)
        #expect(Timestamp.microseconds(of: "2000-02-29 01:30+01:30") == 951_782_400_000_000)
        #expect(Timestamp.microseconds(of: "2000-02-29T00:00:00.5Z") == 951_782_400_500_000)
        for text in ["", "yesterday", "2000-13-01", "2000-01-01T25:00", "10m"] { #expect(Timestamp.microseconds(of: text) == nil) }
    }
}
