import ConcurrencySupport
import Glibc
import WireProtocol

/// The reporter of the ways of traced messages, in this process and those below.
///
/// It is on in the whole tree while a trace is awaited, and then reports the messages with a trace of an operator alone.
final class MessageTraces: Sendable {
    /// A hop as it is reported: times are moments of the monotonic clock, which the processes of a machine share.
    struct Report: UpwardNotice {
        static let notification = "coordinators.trace"

        var trace: String
        var hop: MessageTrace.Hop

        func subjectOutside(of path: CoordinatorPath) -> String? { Self.subjectOutside(of: path, among: CollectionOfOne(hop.path)) }
    }

    private struct State {
        var viewers: [UInt64: AsyncStream<Report>.Continuation] = [:]
        var isWantedAbove = false
        var next: UInt64 = 0

        var isWanted: Bool { isWantedAbove || !viewers.isEmpty }
    }

    /// The number of hops that may wait for one viewer; beyond it the latest are dropped.
    private static let capacity = 4_096

    private let uplink: Uplink?
    private let activity: ObservationActivity
    private let state = Lock(State())
    /// Tells when the first viewer comes and when the last one has gone.
    private let switched = ChangeTeller(false)

    init(uplink: Uplink?, activity: ObservationActivity) { (self.uplink, self.activity) = (uplink, activity) }

    var isActive: Bool { activity.has(.traces) }

    /// Reports a hop of this process or of one below.
    func publish(_ report: Report) {
        let (viewers, isWantedAbove) = state.withLock { (Array($0.viewers.values), $0.isWantedAbove) }
        for viewer in viewers { viewer.yield(report) }
        if isWantedAbove { _ = uplink?.notify(Report.notification, report) }
    }

    /// Runs the body while hops are reported to the stream.
    func viewing<Result>(_ body: (AsyncStream<Report>) async throws -> Result) async rethrows -> Result {
        let (stream, continuation) = AsyncStream<Report>.makeStream(bufferingPolicy: .bufferingOldest(Self.capacity))
        let id = change { state in
            state.next += 1
            state.viewers[state.next] = continuation
            return state.next
        }
        defer { change { $0.viewers[id] = nil } }
        return try await body(stream)
    }

    /// Sets whether the process above wants the hops of this one.
    func setWantedAbove(_ isWanted: Bool) { change { $0.isWantedAbove = isWanted } }

    /// Adds a function that is called when this process begins or ends to want hops: for a link to a process below.
    func whenSwitched(_ change: @escaping @Sendable (Bool) -> Void) -> UInt64 {
        switched.add(change)
    }

    func forget(_ id: UInt64) { switched.remove(id) }

    @discardableResult
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let result = state.withLock { state in
            let result = body(&state)
            activity.set(.traces, state.isWanted)
            return result
        }
        switched.tell { state.withLock { $0.isWanted } }
        return result
    }
}

extension MessageTraces: CoordinatorInstrument {
    func around<R: Sendable>(_ message: MessageInfo, next: () async throws -> R) async throws -> R {
        guard let trace = trace(of: message) else { return try await next() }
        let began = MonotonicTime.now
        do {
            let result = try await next()
            report(message, trace, since: began)
            return result
        } catch {
            report(message, trace, since: began, error)
            throw error
        }
    }

    func around<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R {
        guard let trace = trace(of: message) else { return try next() }
        let began = MonotonicTime.now
        do {
            let result = try next()
            report(message, trace, since: began)
            return result
        } catch {
            report(message, trace, since: began, error)
            throw error
        }
    }

    private func trace(of message: MessageInfo) -> TraceContext? {
        guard isActive, message.direction == .incoming, let trace = message.trace, trace.isReported else { return nil }
        return trace
    }

    private func report(_ message: MessageInfo, _ trace: TraceContext, since began: MonotonicTime, _ error: (any Error)? = nil) {
        let hop = MessageTrace.Hop(
            path: message.path,
            type: message.coordinatorType ?? "",
            processID: getpid(),
            message: message.name,
            sender: message.sender,
            began: began.sinceOrigin,
            waited: message.waited,
            took: .now - began,
            error: error.map { "\($0)".shortened }
        )
        publish(Report(trace: trace.identifier, hop: hop))
    }
}

extension MessageTraces {
    /// The time without another hop after which a trace is complete: reports come by the links that the reply has come by.
    private static let quiet = Duration.milliseconds(30)
    /// The longest time for which hops are awaited after the reply.
    private static let patience = Duration.milliseconds(500)

    /// Runs the body with a trace of its own as ``TraceContext/current``, and returns the outcome and the hops of all messages of that trace.
    func trace<Value: Sendable>(
        _ body: () async throws -> Value
    ) async -> (outcome: Result<Value, any Error>, trace: MessageTrace) {
        let context = TraceContext.reported()
        return await viewing { reports in
            let began = MonotonicTime.now
            let outcome: Result<Value, any Error>
            do {
                outcome = .success(try await TraceContext.$current.withValue(context) { try await body() })
            } catch {
                outcome = .failure(error)
            }
            let duration = MonotonicTime.now - began
            let hops = await Self.hops(of: context.identifier, in: reports)
                .map { hop in
                    var hop = hop
                    hop.began -= began.sinceOrigin
                    return hop
                }
                .sorted { $0.began < $1.began }
            return (outcome, MessageTrace(identifier: context.identifier, hops: hops, duration: duration))
        }
    }

    /// The hops so far, and when the latest came.
    private final class Collected: Sendable {
        let state = Lock<(hops: [MessageTrace.Hop], latest: MonotonicTime)>(([], .now))
    }

    private static func hops(of identifier: String, in reports: AsyncStream<Report>) async -> [MessageTrace.Hop] {
        let collected = Collected()
        let end = MonotonicTime.now + patience
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await report in reports where report.trace == identifier {
                    collected.state.withLock { state in
                        guard state.hops.count < capacity else { return }
                        state.hops.append(report.hop)
                        state.latest = .now
                    }
                }
            }
            group.addTask {
                while case let latest = collected.state.withLock({ $0.latest }), MonotonicTime.now < min(latest + quiet, end) {
                    try? await Task.sleep(for: .milliseconds(5))
                }
            }
            // The stream ends with its reader.
            await group.next()
            group.cancelAll()
        }
        return collected.state.withLock { $0.hops }
    }
}

// MARK: - The way of one message

/// The way of one traced message through the tree: who handled it, in which process, and how long each took.
public struct MessageTrace: Sendable {
    /// A row that has handled the message, or a message that its handler sent.
    public struct Hop: Sendable, Hashable, Codable {
        /// The coordinator whose row has handled the message.
        public var path: CoordinatorPath
        /// The type of that coordinator.
        public var type: String
        /// The number of the process in which the row ran.
        public var processID: Int32
        /// The name of the message.
        public var message: String
        /// The coordinator that sent the message.
        public var sender: CoordinatorPath
        /// The time at which the row began, since the ask began.
        public var began: Duration
        /// The time for which the message has waited in the coordinator's process until then.
        public var waited: Duration
        /// The time that the row took, with what it has awaited.
        public var took: Duration
        /// The error that the row threw.
        public var error: String?
    }

    /// The trace's identifier: 32 hexadecimal digits, as of https://www.w3.org/TR/trace-context/.
    public let identifier: String
    /// The hops in the order of their beginnings.
    public let hops: [Hop]
    /// The time that the ask took.
    public let duration: Duration
}

extension TraceContext {
    /// The beginning of the traces that operators ask for, by which the messages of others are told apart at no cost.
    private static let mark = "00-c007d1a7"

    /// Creates a trace for a message whose way is to be reported.
    static func reported() -> TraceContext {
        func digits(_ count: Int) -> String {
            String((0..<count).map { _ in Character(String(UInt8.random(in: 0..<16), radix: 16)) })
        }
        return TraceContext(traceparent: "\(mark)\(digits(24))-\(digits(16))-01")
    }

    /// Whether the way of the message is reported.
    var isReported: Bool { traceparent.hasPrefix(Self.mark) }

    /// The identifier of the trace: the second field.
    var identifier: String { traceparent.split(separator: "-").dropFirst().first.map(String.init) ?? "" }
}

// MARK: - The marks of a trace

extension TraceContext {
    /// The fields of a W3C `traceparent`.
    struct Fields: Equatable {
        var trace: TraceIdentifier
        var span: UInt64
        /// Whether the trace is recorded.
        var isSampled: Bool
    }

    /// The number of characters of a `traceparent` of version 00.
    private static let length = 55

    /// The fields of the text, if it begins with a `traceparent`; a tracer may have put lines of its own behind it.
    ///
    /// https://www.w3.org/TR/trace-context/#traceparent-header-field-values
    var fields: Fields? {
        var text = traceparent
        // Unsafe: the text lives as long as the closure takes; each message is read, and a string's own views are many times as slow.
        return text.withUTF8 { Self.fields(of: $0) }
    }

    private static func fields(of text: UnsafeBufferPointer<UInt8>) -> Fields? {
        let hyphen = UInt8(ascii: "-")
        guard text.count >= length, text[2] == hyphen, text[35] == hyphen, text[52] == hyphen,
            let version = hexadecimal(text[0..<2]), version != 0xFF,
            let high = hexadecimal(text[3..<19]), let low = hexadecimal(text[19..<35]), high | low != 0,
            let span = hexadecimal(text[36..<52]), span != 0,
            let flags = hexadecimal(text[53..<55])
        else { return nil }
        // Version 00 ends here; what a later one adds follows a hyphen.
        if text.count > length {
            let next = text[length]
            if next != UInt8(ascii: "\n"), version == 0 || next != hyphen { return nil }
        }
        return Fields(trace: TraceIdentifier(high: high, low: low), span: span, isSampled: flags & 1 == 1)
    }

    /// Returns the number that digits stand for; `nil` when one is no digit, or a capital letter.
    private static func hexadecimal(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
        var value: UInt64 = 0
        for digit in digits {
            let (decimal, letter) = (digit &- UInt8(ascii: "0"), digit &- UInt8(ascii: "a"))
            if decimal < 10 {
                value = value << 4 | UInt64(decimal)
            } else if letter < 6 {
                value = value << 4 | UInt64(letter + 10)
            } else {
                return nil
            }
        }
        return value
    }

    /// Creates the text of fields, with the lines that follow those of another.
    init(_ fields: Fields, after former: TraceContext?) {
        let rest = former.map { Substring($0.traceparent.utf8.drop { $0 != UInt8(ascii: "\n") }) } ?? ""
        let (trace, span) = ("\(Self.hexadecimal(fields.trace.high))\(Self.hexadecimal(fields.trace.low))", Self.hexadecimal(fields.span))
        self.init(traceparent: "00-\(trace)-\(span)-\(fields.isSampled ? "01" : "00")\(rest)")
    }

    /// The sixteen digits of a number.
    private static func hexadecimal(_ value: UInt64) -> String {
        String(unsafeUninitializedCapacity: 16) { digits in
            // Unsafe: the closure fills all sixteen bytes that it has asked for.
            for index in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - 4 * index)) & 0xF
                digits[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            }
            return 16
        }
    }
}
