import Control
import Coordinators
import Processes

extension SignalResult {
    /// Sends a signal to the process of a worker or program.
    ///
    /// The number of a process deep in the tree is the word of the worker above it. A signal goes only to processes that the kernel knows as
    /// descendants of the daemon's own child on the path.
    ///
    /// - Throws: `.notRunning` when the node has no process, `.invalidRequest` when it shares its parent's, `.failed` for the kernel's errors.
    static func sending(_ number: Int32, to path: CoordinatorPath, in runtime: CoordinatorRuntime) async throws -> SignalResult {
        let node = try await runtime.snapshot(of: path)
        guard let process = node.process else {
            throw ControlError(.notRunning, "\(path) isn't running and has no process")
        }
        guard node.host != .inProcess else {
            throw ControlError(
                .invalidRequest,
                "\(path) runs in the process of its parent, \(process.processID); name the coordinator of that process"
            )
        }
        let child = try await runtime.snapshot(of: CoordinatorPath("/\(path.components[0])") ?? path)
        guard let top = child.process, process == top || process.isInSubtree(of: top) else {
            throw ControlError(.failed, "the process of \(path), \(process.processID), isn't a descendant of the daemon's child any more")
        }
        let signal = Signal(rawValue: number)
        do throws(ProcessError) {
            try process.send(signal)
        } catch {
            throw ControlError(.failed, "\(path): \(error)")
        }
        return SignalResult(path: path.description, pid: process.processID, signal: signal.name)
    }
}

extension CoordinatorSnapshot {
    fileprivate var process: ProcessIdentity? {
        guard let processID, let processStartTime else { return nil }
        return ProcessIdentity(processID: processID, startTime: processStartTime)
    }
}
