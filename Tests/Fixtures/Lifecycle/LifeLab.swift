public import Coordinators

/// Runs children to their ends by the thousand in a process that does nothing else, and counts what is left.
///
/// The tests' own process is no place to count in: other tests run there.
public actor LifeLab: Coordinator {
    static let greeting = "cycled"

    /// Runs children to their ends, one after the other.
    public struct Cycle: ResponderMessage {
        public typealias Reply = Int
        public var count: Int
        public var inWorker: Bool
        public init(_ count: Int, inWorker: Bool) { (self.count, self.inWorker) = (count, inWorker) }
    }

    public struct TakeCensus: ResponderMessage {
        public typealias Reply = Census
        public init() {}
    }

    /// Starts another lab below, in a worker.
    public struct StartInner: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Cycle.self) { me, cycle in try await me.perform(cycle) },
        .respond(to: TakeCensus.self) { _, _ in Census.taken(of: LifeLab.greeting) },
        .respond(to: StartInner.self) { me, _ in try await me.context.start(LifeLab.self, as: "inner", in: .worker).path.description },
    ]

    /// - Returns: how many have told what they were given.
    private func perform(_ cycle: Cycle) async throws -> Int {
        var right = 0
        for _ in 0..<cycle.count {
            let output = try await context.run(LifeChild.self, as: "cycle", in: cycle.inWorker ? .worker : .inProcess) {
                $0.greeting = LifeLab.greeting
                $0.opening = .finishes
            }
            if output == LifeLab.greeting { right += 1 }
        }
        return right
    }
}
