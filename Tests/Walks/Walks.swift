import Coordinators
import CoordinatorsTesting
import Glibc

/// A worker that asks its parent, or is killed and comes back, as often as the second argument says: what `Tests/Walks/run` counts the files of.
@main
struct Walks {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let count = Int(arguments[2]) else {
            return try await CoordinatorRuntime.main(Parent.self, coordinators: [Walker.self])
        }
        let note = Note(file: "\(arguments[3])/walker")
        var options = CoordinatorRuntime.Options()
        options.supervision = SupervisionPolicy(intensity: 1_000, backoff: .none)
        let runtime = CoordinatorRuntime(Parent.self, configuration: note, options: options)
        try await runtime.start()
        switch arguments[1] {
        case "ask": try await runtime.ask(Walk(count: count), at: "/walker", timeout: .seconds(60))
        case "crash": for _ in 0..<count { try await crash(note) }
        default: print("\(arguments[1]) is neither ask nor crash")
        }
        await runtime.stop()
    }

    /// Kills the worker, and returns when its next life has started; asks the library nothing, which would count.
    private static func crash(_ note: Note) async throws {
        let former = note.process
        kill(former, SIGKILL)
        try await eventually("it has started") { note.process != former }
        let time = ContinuousClock.now + .milliseconds(30)
        try await eventually("its parent has heard of that") { ContinuousClock.now > time }
    }
}

/// The place where a worker notes its process: a link to its number.
private struct Note: CoordinatorConfiguration {
    var file = ""

    /// The process of the life that has started last.
    var process: Int32 {
        var text = [CChar](repeating: 0, count: 16)
        let count = readlink(file, &text, text.count)
        return Int32(String(decoding: text.prefix(max(count, 0)).map(UInt8.init), as: UTF8.self)) ?? 0
    }

    func write() {
        unlink(file)
        symlink("\(getpid())", file)
    }
}

/// Makes the walker ask so many times.
private struct Walk: ResponderMessage {
    var count: Int
}

private struct Question: ResponderMessage {
    typealias Reply = Int
    var number: Int
}

private actor Parent: Coordinator {
    typealias Configuration = Note

    static let responders: Responders = [.respond(to: Question.self) { _, question in question.number }]

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    func start() async throws {
        let file = context.configuration.file
        try await context.start(Walker.self, as: "walker", in: .worker) { $0.file = file }
    }
}

private actor Walker: Coordinator {
    typealias Configuration = Note

    static let responders: Responders = [
        .respond(to: Walk.self) { me, walk in
            for number in 0..<walk.count { _ = try await me.context.ask(Question(number: number), timeout: .seconds(60)) }
        }
    ]

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    func start() { context.configuration.write() }
}
