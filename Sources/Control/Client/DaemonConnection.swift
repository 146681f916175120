public import Processes
public import WireProtocol

/// A connection to a daemon, made anew when it has ended.
///
/// Questions that many have at the same time are asked once.
public actor DaemonConnection {
    /// An answer, kept for those who ask soon after.
    public struct Answer: Sendable {
        /// The answer.
        public var value: JSONValue
        /// Its JSON, as it's passed on.
        public var bytes: [UInt8]
        /// The time at which it came.
        public var at: ContinuousClock.Instant
    }

    /// The time for which a connection is waited for, and a short answer.
    private static let patience = Duration.seconds(5)

    private let directory: RuntimeDirectory
    private var client: ControlClient?
    private var connecting: Task<Result<ControlClient, ControlError>, Never>?
    private var kept: [ControlOperation: Answer] = [:]
    private var asked: [ControlOperation: Task<Result<Answer, ControlError>, Never>] = [:]

    /// Creates a connection, which is made when it's first used.
    public init(_ directory: RuntimeDirectory) { self.directory = directory }

    /// Returns the connection.
    public func connected() async throws(ControlError) -> ControlClient {
        if let client, !client.hasEnded { return client }
        if let connecting { return try await connecting.value.get() }
        let directory = directory
        // The one unstructured task of a connection: its waiters may be cancelled, and the others still want it.
        let task = Task { () async -> Result<ControlClient, ControlError> in
            do throws(ControlError) {
                return .success(try await ControlClient.connect(runtimeDirectory: directory, timeout: Self.patience))
            } catch {
                return .failure(error)
            }
        }
        connecting = task
        let outcome = await task.value
        connecting = nil
        client = try? outcome.get()
        return try outcome.get()
    }

    /// Returns a connection that nothing else uses.
    public func another() async throws(ControlError) -> ControlClient {
        try await ControlClient.connect(runtimeDirectory: directory, timeout: Self.patience)
    }

    /// Requests an operation, and waits for its result.
    ///
    /// When the daemon ends the connection just then, and says that it hasn't carried the request out, it's requested again on another one.
    public func call(_ operation: ControlOperation, requestID: String? = nil) async throws(ControlError) -> JSONValue {
        var patience = UpgradePatience(directory)
        while true {
            do throws(ControlError) {
                return try await connected().call(operation, requestID: requestID)
            } catch {
                guard error.code.provesAbsence, !Task.isCancelled, patience.allowsAnotherAttempt(after: error) else { throw error }
            }
            try? await Task.sleep(for: .microseconds(Int(UpgradePatience.pauseMicroseconds)))
        }
    }

    /// Returns the answer to a question; one that came less than so long ago serves again.
    public func answer(to operation: ControlOperation, atMost age: Duration = .milliseconds(500)) async throws(ControlError) -> Answer {
        if let answer = kept[operation], answer.at.duration(to: .now) < age { return answer }
        if let running = asked[operation] { return try await running.value.get() }
        let task = Task { () async -> Result<Answer, ControlError> in
            do throws(ControlError) {
                let value = try await call(operation)
                return .success(Answer(value: value, bytes: try ControlJSON.bytes(of: value), at: .now))
            } catch {
                return .failure(error)
            }
        }
        asked[operation] = task
        let outcome = await task.value
        asked[operation] = nil
        kept[operation] = try? outcome.get()
        return try outcome.get()
    }
}
