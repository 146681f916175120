import Coordinators
import Glibc

/// A receiver whose lives overlap, and its sender: what they do is told by files of one directory.
enum UpgradeCompletion {
    /// While this file exists, a life of the receiver doesn't become ready.
    static let hold = "hold"
    /// Once this file exists, the handlers of the receiver end.
    static let finish = "finish"
    /// Each beginning of a life of the receiver is a line of this file.
    static let born = "born"
    /// Each message that a life handles is a line of this file.
    static let handled = "handled"
    /// Each outcome of a message is a line of this file.
    static let outcomes = "outcomes"

    /// The name of the file that has the sender send a message.
    static func send(_ number: Int) -> String { "send-\(number)" }

    struct Configuration: CoordinatorConfiguration {
        var directory = ""
        init() {}

        fileprivate func file(_ name: String) -> String { "\(directory)/\(name)" }
    }

    struct Work: ResponderMessage {
        var number: Int
    }
}

actor SuccessionReceiver: Coordinator {
    typealias Configuration = UpgradeCompletion.Configuration

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: UpgradeCompletion.Work.self) { me, work in
            SharedFile.append("\(work.number) \(getpid())", to: me.file(UpgradeCompletion.handled))
            try await SharedFile.wait(for: me.file(UpgradeCompletion.finish))
        }
    ]

    func start() async throws {
        SharedFile.append("\(getpid())", to: file(UpgradeCompletion.born))
        try await SharedFile.wait(for: file(UpgradeCompletion.hold), isThere: false)
    }

    private nonisolated func file(_ name: String) -> String { context.configuration.file(name) }
}

actor SuccessionSender: Coordinator {
    typealias Configuration = UpgradeCompletion.Configuration

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    func run() async throws {
        for number in 1... {
            try await SharedFile.wait(for: context.configuration.file(UpgradeCompletion.send(number)))
            var outcome: String
            do {
                outcome = "\(try await context.send(UpgradeCompletion.Work(number: number), acknowledged: true))"
            } catch let error as CoordinatorError {
                outcome = "\(error.code) \(error.maybeExecuted)"
            }
            SharedFile.append("\(number) \(outcome)", to: context.configuration.file(UpgradeCompletion.outcomes))
        }
    }
}
