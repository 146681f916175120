public import WireProtocol

extension ControlClient {
    /// The tree of coordinators, from the root.
    public func tree() async throws(ControlError) -> TreeNode {
        try ControlJSON.decode(TreeNode.self, from: try await call(.tree))
    }

    /// The processes of the tree.
    public func processes() async throws(ControlError) -> ProcessList {
        try ControlJSON.decode(ProcessList.self, from: try await call(.ps))
    }

    /// What is at a path, and below it.
    public func status(_ path: String) async throws(ControlError) -> TreeNode {
        try ControlJSON.decode(TreeNode.self, from: try await call(.status(path: path)))
    }

    /// Starts what was stopped, and waits until it is ready.
    public func start(_ path: String) async throws(ControlError) -> LifecycleResult {
        try ControlJSON.decode(LifecycleResult.self, from: try await call(.start(path: path)))
    }

    /// Stops what is at a path and below it, and waits until it has ended.
    public func stop(_ path: String) async throws(ControlError) -> LifecycleResult {
        try ControlJSON.decode(LifecycleResult.self, from: try await call(.stop(path: path)))
    }

    /// Stops and starts what is at a path.
    public func restart(_ path: String) async throws(ControlError) -> LifecycleResult {
        try ControlJSON.decode(LifecycleResult.self, from: try await call(.restart(path: path)))
    }

    /// Pauses what is at a path and below it, and waits until all have followed.
    public func pause(_ path: String) async throws(ControlError) -> LifecycleResult {
        try ControlJSON.decode(LifecycleResult.self, from: try await call(.pause(path: path)))
    }

    /// Resumes what was paused by its path; it stays paused while something above it is.
    public func resume(_ path: String) async throws(ControlError) -> LifecycleResult {
        try ControlJSON.decode(LifecycleResult.self, from: try await call(.resume(path: path)))
    }

    /// Kills the process of what is at a path.
    public func kill(_ path: String) async throws(ControlError) -> LifecycleResult {
        try ControlJSON.decode(LifecycleResult.self, from: try await call(.kill(path: path)))
    }

    /// Asks as if from the coordinator at the path.
    public func ask(
        _ path: String,
        _ message: String,
        payload: JSONValue = .object([:]),
        timeout: Duration = .seconds(5)
    ) async throws(ControlError) -> AskResult {
        let operation = Operation.ask(path: path, message: message, payload: payload, timeout: timeout)
        return try ControlJSON.decode(AskResult.self, from: try await call(operation))
    }

    /// Sends as if from the coordinator at the path.
    public func send(_ path: String, _ message: String, payload: JSONValue = .object([:])) async throws(ControlError) -> SendResult {
        try ControlJSON.decode(SendResult.self, from: try await call(.send(path: path, message: message, payload: payload)))
    }

    /// What was dropped in the whole tree.
    public func deadLetters() async throws(ControlError) -> DeadLetterList {
        try ControlJSON.decode(DeadLetterList.self, from: try await call(.deadLetters))
    }

    /// Returns when the daemon answers.
    public func ping() async throws(ControlError) {
        _ = try await call(.ping)
    }

    /// Stops the tree and ends the daemon.
    ///
    /// - Parameter now: kills what still runs at once, also when the end has begun.
    public func shutdown(now: Bool = false) async throws(ControlError) {
        _ = try await call(.shutdown(now: now))
    }
}
