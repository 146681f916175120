internal import Processes
import Synchronization

/// The destination of the output of workers and programs.
public struct WorkerOutput: Sendable {
    /// A function that receives the output of a child, on the thread that drains it: it must not block.
    public typealias Receiver = @Sendable (_ path: CoordinatorPath, _ bytes: [UInt8]) -> Void

    private let receiver: (any OutputReceiver)?

    /// The destination to which this process writes its own output.
    public static let inherit = WorkerOutput(receiver: nil)

    /// Returns a destination in this process, which drains the output at once: a child's output never blocks the child.
    public static func captured(_ receiver: @escaping Receiver) -> WorkerOutput {
        WorkerOutput(receiver: Function(receiver: receiver))
    }

    /// Returns a destination in this process that knows which life each piece of output is from.
    package static func captured(by receiver: any OutputReceiver) -> WorkerOutput { WorkerOutput(receiver: receiver) }

    private init(receiver: (any OutputReceiver)?) { self.receiver = receiver }

    private struct Function: OutputReceiver {
        let receiver: Receiver

        func received(_ bytes: [UInt8], from origin: OutputOrigin) { receiver(origin.path, bytes) }
    }

    /// A receiver whose output another function sees too.
    private struct Witnessed: OutputReceiver {
        let receiver: any OutputReceiver
        let sees: @Sendable ([UInt8], Bool) -> Void

        func received(_ bytes: [UInt8], from origin: OutputOrigin) {
            receiver.received(bytes, from: origin)
            sees(bytes, origin.isError)
        }

        func isFull(_ origin: OutputOrigin) -> Bool { receiver.isFull(origin) }
        func separatesErrors(of path: CoordinatorPath) -> Bool { receiver.separatesErrors(of: path) }
    }

    var isCaptured: Bool { receiver != nil }

    func separatesErrors(of path: CoordinatorPath) -> Bool { receiver?.separatesErrors(of: path) ?? false }

    /// Sets the destinations of a child's output in its specification.
    ///
    /// - Parameters:
    ///   - fifo: The path of the FIFO for the output of a child that may outlive this process; `nil`: a pipe will do.
    ///   - errorFIFO: The path of the FIFO for its standard error, if that may be apart.
    ///   - sees: The function that sees the output too, and whether it's standard error.
    func capture(
        _ specification: inout ProcessSpecification,
        _ path: CoordinatorPath,
        _ incarnation: UInt32,
        fifo: String?,
        errorFIFO: String? = nil,
        seenBy sees: (@Sendable ([UInt8], Bool) -> Void)? = nil
    ) {
        guard let own = receiver else { return }
        let receiver = sees.map { Witnessed(receiver: own, sees: $0) } ?? own
        let output = OutputOrigin(path, incarnation, isError: false)
        specification.standardOutput = Self.destination(output, receiver, fifo)
        specification.standardError = .sameAsOutput
        specification.isOutputFull = { receiver.isFull(output) }
        guard fifo == nil || errorFIFO != nil, receiver.separatesErrors(of: path) else {
            specification.whenSpawned = { output.began(as: $0.processID) }
            return
        }
        let errors = OutputOrigin(path, incarnation, isError: true)
        specification.standardError = Self.destination(errors, receiver, errorFIFO)
        specification.whenSpawned = {
            output.began(as: $0.processID)
            errors.began(as: $0.processID)
        }
    }

    /// Returns the destination of the output of a child that is taken over.
    func adopted(_ path: CoordinatorPath, _ incarnation: UInt32, _ processID: Int32, fifo: String?) -> OutputDestination {
        guard let receiver, let fifo else { return .inherit }
        let origin = OutputOrigin(path, incarnation, isError: false)
        origin.began(as: processID)
        return Self.destination(origin, receiver, fifo)
    }

    /// Returns the functions that get the output of a program that the former program in this process has spawned.
    func receivers(_ path: CoordinatorPath, _ incarnation: UInt32, _ processID: Int32) -> KeptReceivers {
        let (output, errors) = (OutputOrigin(path, incarnation, isError: false), OutputOrigin(path, incarnation, isError: true))
        output.began(as: processID)
        errors.began(as: processID)
        let receiver = receiver
        return KeptReceivers(
            output: { receiver?.received($0, from: output) },
            errors: { receiver?.received($0, from: errors) },
            channel: { _ in },
            datagrams: { _ in },
            isFull: { receiver?.isFull(output) ?? false }
        )
    }

    private static func destination(_ origin: OutputOrigin, _ receiver: any OutputReceiver, _ fifo: String?) -> OutputDestination {
        guard let fifo else { return .captured { receiver.received($0, from: origin) } }
        return .fifo(at: fifo) { receiver.received($0, from: origin) }
    }
}

/// A receiver of children's output, on the thread that drains it: no call may block.
package protocol OutputReceiver: Sendable {
    /// Takes output; no bytes mean that no more comes.
    func received(_ bytes: [UInt8], from origin: OutputOrigin)

    /// Whether the output should stay in its pipe for a moment.
    func isFull(_ origin: OutputOrigin) -> Bool

    /// Whether the standard error of a child is received apart from its standard output; of a worker that may outlive this process it's not.
    func separatesErrors(of path: CoordinatorPath) -> Bool
}

extension OutputReceiver {
    package func isFull(_ origin: OutputOrigin) -> Bool { false }
    package func separatesErrors(of path: CoordinatorPath) -> Bool { false }
}

/// The life that output is from.
package final class OutputOrigin: Sendable {
    package let path: CoordinatorPath
    /// The number of the life; 0: it isn't known.
    package let incarnation: UInt32
    /// Whether it is standard error alone.
    package let isError: Bool
    private let process = Atomic<Int32>(0)

    package init(_ path: CoordinatorPath, _ incarnation: UInt32, isError: Bool) {
        (self.path, self.incarnation, self.isError) = (path, incarnation, isError)
    }

    /// The process; 0: it isn't known.
    package var processID: Int32 { process.load(ordering: .relaxed) }

    package func began(as processID: Int32) { process.store(processID, ordering: .relaxed) }
}
