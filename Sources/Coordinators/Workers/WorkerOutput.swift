internal import Processes

/// The destination of the output of workers and programs.
public struct WorkerOutput: Sendable {
    /// Receives what a child has written, on the thread that drains it: it must not block.
    public typealias Receiver = @Sendable (_ path: CoordinatorPath, _ bytes: [UInt8]) -> Void

    private let receiver: Receiver?

    /// To wherever this process writes to.
    public static let inherit = WorkerOutput(receiver: nil)

    /// To this process, which drains it at once: a child's output never blocks the child.
    public static func captured(_ receiver: @escaping Receiver) -> WorkerOutput {
        WorkerOutput(receiver: receiver)
    }

    private init(receiver: Receiver?) { self.receiver = receiver }

    var isCaptured: Bool { receiver != nil }

    func destination(for path: CoordinatorPath) -> OutputDestination {
        guard let receiver else { return .inherit }
        return .captured { receiver(path, $0) }
    }
}
