import ConcurrencySupport
import Processes
import ServiceLifecycle
import UnixSignals
import WireProtocol

/// The `main` of a worker process.
enum WorkerMain {
    /// Arms the parent-death signal of a worker that must not outlive its parent.
    static func arm(_ ticket: Ticket) throws(CoordinatorError) {
        guard ticket.isStrict else { return }
        do throws(ProcessError) {
            try WorkerProcess.armParentDeathSignal(expecting: ticket.parentProcessID)
        } catch {
            throw CoordinatorError(.startFailed, error.message)
        }
    }

    /// Hosts a coordinator for the parent that has issued the ticket, until the coordinator has ended.
    ///
    /// - Returns: The exit status.
    @concurrent
    static func run(_ ticket: Ticket, _ options: CoordinatorRuntime.Options) async -> Int32 {
        guard let path = CoordinatorPath(ticket.path) else {
            Diagnostics.print("the ticket's path '\(ticket.path)' is none")
            return 78
        }
        let worker = Worker(ticket, path, options)
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) { worker.end(within: .seconds(5), .shutdown) }
            }
            worker.connect()
            let code = await worker.exitCode.value
            group.cancelAll()
            return code
        }
    }
}
