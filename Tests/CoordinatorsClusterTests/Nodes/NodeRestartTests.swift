import ConcurrencySupport
import Control
import Processes
import TestSupport
import Testing
import WireProtocol

/// Daemons that are ended and started again, one after the other, as for a new version of them.
@Suite("Restarts of nodes", .sharedEtcd, .timeLimit(.minutes(5))) struct NodeRestartTests {
    /// What operators ask.
    private static let ledgers = ["/red", "/green", "/blue"]
    /// What coordinators send to.
    private static let shared = "/shared"
    private static let placed = ledgers + [shared]

    private static let children =
        ledgers.map { path in
            """
              - name: \(path.dropFirst())
                placement: cluster
                worker: { executable: FIXTURE, coordinator: LedgerCoordinator, configuration: { file: DIRECTORY/ledger } }

            """
        }.joined() + """
              - name: shared
                placement: cluster
                receives: [Ledger.EnterBeside]
                worker: { executable: FIXTURE, coordinator: BesideCoordinator, configuration: { file: DIRECTORY/ledger } }
              - { name: pusher, worker: { executable: FIXTURE, coordinator: LedgerCoordinator } }
            """

    private struct Entry: Hashable {
        var sender: Int
        var number: Int
    }

    /// Somebody who has one child make one entry after the other, by way of one node.
    private final class Asker: Sendable {
        /// What has become of an entry; nil: it was made.
        typealias Outcomes = [Entry: String?]

        private struct State {
            var outcomes: Outcomes = [:]
            var failures: [String] = []
            var rounds = 0
            var isAway = false
            var isAsking = false
            var isOver = false
        }

        let node: String
        let path: String
        private let round: @Sendable (ControlClient, _ number: Int) async throws -> Outcomes
        private let state = Lock(State())

        init(
            on node: String,
            of path: String,
            _ round: @escaping @Sendable (_ client: ControlClient, _ number: Int) async throws -> Outcomes
        ) {
            (self.node, self.path, self.round) = (node, path, round)
        }

        var outcomes: Outcomes { state.withLock { $0.outcomes } }
        var rounds: Int { state.withLock { $0.rounds } }

        /// Returns why entries have failed since the last call.
        func takeFailures() -> [String] {
            state.withLock { state in
                defer { state.failures = [] }
                return state.failures
            }
        }

        func run(in cluster: RunningCluster) async throws {
            var client: ControlClient?
            while !state.withLock({ $0.isOver }) {
                let number = state.withLock { state -> Int? in
                    state.isAsking = !state.isAway
                    return state.isAsking ? state.rounds : nil
                }
                guard let number else {
                    client?.close()
                    client = nil
                    try await eventually("it's back", within: .seconds(240)) { state.withLock { !$0.isAway || $0.isOver } }
                    continue
                }
                let open =
                    if let client { client } else {
                        try await ControlClient.connect(
                            runtimeDirectory: RuntimeDirectory(path: cluster.directory.file("\(node)/run"))
                        )
                    }
                client = open
                let outcomes = try await round(open, number)
                state.withLock { state in
                    state.outcomes.merge(outcomes) { former, _ in former }
                    state.failures += outcomes.values.compactMap { $0 }
                    state.rounds += 1
                    state.isAsking = false
                }
            }
            client?.close()
        }

        /// Ends what goes by way of this node, as a load balancer does before a restart.
        func leave() async throws {
            state.withLock { $0.isAway = true }
            try await eventually("its last ask has ended") { state.withLock { !$0.isAsking } }
        }

        func comeBack() { state.withLock { $0.isAway = false } }
        func end() { state.withLock { $0.isOver = true } }
    }

    /// An operator on a node, whose asks go to the node that has the child, and take a while there after the entry is made: one is nearly
    /// always open.
    private static func anOperator(_ sender: Int, on node: String, of path: String) -> Asker {
        Asker(on: node, of: path) { client, number in
            let payload: JSONValue = ["sender": .integer(Int64(sender)), "number": .integer(Int64(number)), "milliseconds": 10]
            let entry = Entry(sender: sender, number: number)
            do throws(ControlError) {
                _ = try await client.call(.ask(path: path, message: "Ledger.Enter", payload: payload, timeout: .seconds(20)))
                return [entry: nil]
            } catch {
                return [entry: "\(error.code): \(error.message)"]
            }
        }
    }

    /// A coordinator on a node, which sends acknowledged entries to the one on another.
    private static func aPusher(_ sender: Int, on node: String) -> Asker {
        let count = 20
        return Asker(on: node, of: shared) { client, number in
            let sender = sender + number
            let payload: JSONValue = ["sender": .integer(Int64(sender)), "count": .integer(Int64(count))]
            let reply = try await client.call(
                .ask(path: "/pusher", message: "Ledger.PushBeside", payload: payload, timeout: .seconds(60))
            )
            let outcomes = try ControlJSON.decode([String].self, from: try ControlJSON.decode(AskResult.self, from: reply).reply)
            var entries: Asker.Outcomes = [:]
            for (number, outcome) in outcomes.enumerated() {
                entries[Entry(sender: sender, number: number)] = .some(outcome == "true" ? nil : outcome)
            }
            return entries
        }
    }

    /// Each node has a ledger, and the coordinators' one is where the last of them is.
    private func distribute(in cluster: RunningCluster) async throws {
        for (path, node) in zip(Self.placed, RunningCluster.names + ["c"]) {
            #expect(try await cluster.control("a", "move", path, node).exitCode == 0)
            try await cluster.eventually("\(path) is on \(node)") { try await cluster.place(of: path, from: "a").node == node }
            #expect(try await cluster.activeOwner(of: path) == node)
        }
        for path in Self.placed { #expect(try await cluster.control("a", "unpin", path).exitCode == 0) }
    }

    @Test func onlyWhatMovesFailsAndNothingIsDoneTwice() async throws {
        try await RunningCluster.with(Self.children, areLinked: true) { cluster in
            try await distribute(in: cluster)
            let askers = RunningCluster.names.enumerated().flatMap { index, node in
                Self.ledgers.enumerated().map { Self.anOperator(10 * index + $0, on: node, of: $1) }
                    + [Self.aPusher((index + 1) * 1_000_000, on: node)]
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { for asker in askers { asker.end() } }
                for asker in askers { group.addTask { try await asker.run(in: cluster) } }
                for node in RunningCluster.names { try await restart(node, under: askers, in: cluster) }
                for asker in askers { asker.end() }
                try await group.waitForAll()
            }
            try check(askers, in: cluster)
        }
    }

    /// Waits until each of them has been answered a few times more, so that nothing that was open is open still.
    private func goOn(_ askers: [Asker], in cluster: RunningCluster) async throws {
        let rounds = askers.map(\.rounds)
        try await cluster.eventually("asks go on") { zip(askers, rounds).allSatisfy { $0.rounds > $1 + 3 } }
    }

    private func restart(_ node: String, under askers: [Asker], in cluster: RunningCluster) async throws {
        try await goOn(askers, in: cluster)
        let others = RunningCluster.names.filter { $0 != node }
        var moving: Set<String> = []
        for path in Self.placed where try await cluster.place(of: path, from: node).node == node { moving.insert(path) }
        #expect(!moving.isEmpty, "\(node) has nothing that could move")
        for asker in askers { #expect(asker.takeFailures() == [], "an ask of \(asker.path) failed while nothing happened") }

        let (leaving, staying) = (askers.filter { $0.node == node }, askers.filter { $0.node != node })
        for asker in leaving { try await asker.leave() }
        _ = try await cluster.daemon(node).terminate(grace: .patient(.seconds(10)))
        for path in moving { try await cluster.activeOwner(of: path, besides: node, for: others) }
        try await goOn(staying, in: cluster)
        try await cluster.start(node)
        try await cluster.waitForAllNodes()
        for asker in leaving { asker.comeBack() }
        try await goOn(askers, in: cluster)

        var failures: [String: Int] = [:]
        for asker in askers {
            let reasons = asker.takeFailures()
            failures[asker.path, default: 0] += reasons.count
            #expect(reasons.isEmpty || moving.contains(asker.path), "\(asker.path) hasn't moved: \(reasons)")
            // One is open when the child stops, and the next one can be with the daemon when that ends.
            #expect(reasons.count <= 2, "more has failed than what was open when \(asker.path) moved: \(reasons)")
        }
        print("\(node) was restarted; \(moving.sorted()) moved; failed: \(failures.filter { $0.value > 0 })")
    }

    private func check(_ askers: [Asker], in cluster: RunningCluster) throws {
        let lines = (Files.text(of: cluster.directory.file("ledger")) ?? "").split(separator: "\n")
        let entries = try lines.map { line in
            let words = line.split(separator: " ")
            return try Entry(sender: #require(Int(words[3])), number: #require(Int(words[4])))
        }
        let made = Set(entries)
        #expect(made.count == entries.count, "an entry was made twice")
        var failures: [String] = []
        for asker in askers {
            for (entry, failure) in asker.outcomes {
                if let failure { failures.append(failure) } else { #expect(made.contains(entry), "\(entry) isn't there") }
            }
        }
        print("\(askers.map(\.outcomes.count).reduce(0, +)) asks while each node was restarted; failed: \(failures)")
    }
}
