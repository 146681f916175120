public import Coordinators
import Glibc
public import ServiceLifecycle

extension Fixture {
    /// A service that leaves a trace of its life in the files of a directory.
    public struct Probe: Service {
        let directory: String

        /// Runs until it's shut down, or until there is a file `fail`.
        public func run() async throws {
            note("running")
            defer { note("ended") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await gracefulShutdown() }
                group.addTask {
                    try await FileEvents.wait(at: directory) { unlink("\(directory)/fail") == 0 }
                    throw Refusal("told to fail")
                }
                try await group.next()
                group.cancelAll()
            }
        }

        /// Notes an event of this process.
        func note(_ event: String) {
            SharedFile.append("\(event) \(getpid())", to: "\(directory)/events")
        }
    }

    /// Makes the service of a directory, unless there is a file `refuse`.
    public static func makeProbe(in directory: String) async throws -> Probe {
        try await realTime(.milliseconds(50), because: "it takes the time in which another could be made, wrongly")
        if unlink("\(directory)/refuse") == 0 { throw Refusal("told to refuse") }
        let probe = Probe(directory: directory)
        probe.note("made")
        return probe
    }

    /// Uses the service, and answers with the process.
    public struct UseProbe: ResponderMessage {
        public typealias Reply = Int32
        public var milliseconds: Int
        public init(milliseconds: Int = 0) { self.milliseconds = milliseconds }
    }
}

extension DependencyKeys {
    public var probe: ServiceDependencyKey<Fixture.Probe, String> { .init { try await Fixture.makeProbe(in: $0) } }
}
