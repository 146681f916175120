import ConcurrencySupport
import Logging
import ServiceLifecycle

/// A service that its process hasn't made yet.
struct UnmadeService: Error {
    /// Makes the service, or waits until another caller has made it.
    let make: @Sendable (RuntimeCore) async throws -> Void
}

/// The services that a property of the dependencies reads, and that its process hasn't made yet.
struct UnmadeServices: Error {
    let all: [UnmadeService]
}

extension Node {
    /// Returns the value of a property; makes the services that it reads first, if this process hasn't made them.
    func required<Value: Sendable>(
        _ path: DependencyPath<Value>,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> Value {
        while true {
            do {
                return try dependencies.required(path)
            } catch let services as UnmadeServices {
                for service in services.all { try await service.make(runtime) }
            }
        }
    }
}

/// The services that a process runs, from their making until its last handler has ended.
final class ProcessServices: Sendable {
    private struct Running {
        let name: String
        let group: ServiceGroup
        let task: Task<Void, Never>
    }

    private struct State {
        var isEnding = false
        var running: [Running] = []
        var failed: (@Sendable (ExitReason) -> Void)?
    }

    /// The time that a service is given to end gracefully, and then the time after its cancellation.
    private static let graces: (graceful: Duration, cancelled: Duration) = (.seconds(5), .seconds(1))

    private let logger: Logger
    private let time: TimeSource
    private let state = Lock(State())

    init(logger: Logger, _ time: TimeSource) { (self.logger, self.time) = (logger, time) }

    /// Sets the function that ends the process's first coordinator when a service has failed.
    func whenOneFails(_ failed: @escaping @Sendable (ExitReason) -> Void) { state.withLock { $0.failed = failed } }

    /// Runs a service until the process ends.
    ///
    /// - Throws: `stopped` when the process ends already.
    func run(_ service: any Service, named name: String) throws(CoordinatorError) {
        let group = ServiceGroup(services: [service], logger: logger)
        let isEnding = state.withLock { state in
            if state.isEnding { return true }
            let task = time.task { [weak self] in
                let cause: String
                do {
                    try await group.run()
                    cause = "it has ended"
                } catch let error as ServiceGroupError where error.errorCode == .serviceFinishedUnexpectedly {
                    cause = "it has ended"
                } catch {
                    cause = "\(error)"
                }
                self?.ended(name, cause)
            }
            state.running.append(Running(name: name, group: group, task: task))
            return false
        }
        if isEnding { throw CoordinatorError(.stopped, "the process ends, and \(name) isn't run any more") }
    }

    private func ended(_ name: String, _ cause: String) {
        let failed = state.withLock { $0.isEnding ? nil : $0.failed }
        failed?(.failed("the service \(name): \(cause)".shortened))
    }

    /// Ends the services, those that were made later first.
    func end() async {
        let running = state.withLock { state in
            state.isEnding = true
            defer { state.running = [] }
            return state.running
        }
        for service in running.reversed() { await end(service) }
    }

    private func end(_ service: Running) async {
        let hasEnded = await Grace(Self.graces.graceful, time).within {
            await service.group.triggerGracefulShutdown()
            await service.task.value
        }
        if hasEnded { return }
        service.task.cancel()
        if await Grace(Self.graces.cancelled, time).within({ await service.task.value }) { return }
        logger.error("a service ignores its cancellation, and is abandoned", metadata: ["dependency": "\(service.name)"])
    }
}
