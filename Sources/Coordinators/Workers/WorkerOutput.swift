internal import Processes

/// The destination of the output of workers and programs.
public struct WorkerOutput: Sendable {
    /// A function that receives the output of a child, on the thread that drains it: it must not block.
    public typealias Receiver = @Sendable (_ path: CoordinatorPath, _ bytes: [UInt8]) -> Void

    private let receiver: Receiver?

    /// The destination to which this process writes its own output.
    public static let inherit = WorkerOutput(receiver: nil)

    /// Returns a destination in this process, which drains the output at once: a child's output never blocks the child.
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
