import ChaosHistory
import Control
import Glibc
import Processes

/// The process at the root of the tree, which the driver starts, and starts again.
struct RootProcess {
    private let plan: Plan
    private let kind: RootKind
    private let log: DriverLog
    private let output: Int32
    private(set) var lives = 0
    private(set) var child: ChildProcess?

    init(_ plan: Plan, _ kind: RootKind, _ log: DriverLog) throws {
        (self.plan, self.kind, self.log) = (plan, kind, log)
        output = open("\(plan.directory)/log", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        setenv(Plan.variable, plan.description, 1)
        if kind == .coordinatord { try RunDirectory.write(configuration, to: "\(plan.directory)/tree.yaml") }
    }

    var process: ProcessLife? {
        child.map { ProcessLife(processID: $0.identity.processID, startTime: $0.identity.startTime) }
    }

    /// Starts the next life.
    mutating func start(_ population: inout Population) async throws {
        let child = try await ProcessSpawner.shared.spawn(
            ProcessSpecification(
                executable: Self.program(kind == .embedded ? "ChaosTree" : "coordinatord"),
                arguments: kind == .embedded
                    ? [] : ["--config", "\(plan.directory)/tree.yaml", "--runtime-dir", plan.runtimeDirectory],
                standardOutput: .descriptor(output),
                standardError: .descriptor(output),
                diesWithParent: true
            )
        )
        self.child = child
        lives += 1
        // A daemon writes no history: the driver does it.
        guard kind == .coordinatord, let process else { return }
        let begin = Record.Event.begun(path: "/", incarnation: UInt32(lives), role: .root, isAlone: true)
        log.record(begin, of: process)
        population.add(Record(time: Clock.now, process: process, begin))
    }

    /// Looks whether a daemon has all its children, which is when it's ready.
    func look(_ population: inout Population) async {
        guard kind == .coordinatord, let process, let life = population.life(at: "/"), !life.isReady, !life.isGone else { return }
        guard let client = try? await ControlClient.connect(runtimeDirectory: RuntimeDirectory(path: plan.runtimeDirectory)) else { return }
        defer { client.close() }
        guard let answer = try? await client.call(.tree, timeout: .seconds(1)),
            let tree = try? ControlJSON.decode(TreeNode.self, from: answer),
            tree.children.count(where: { $0.state == "active" }) == plan.parents
        else { return }
        log.record(.ready, of: process)
        population.add(Record(time: Clock.now, process: process, .ready))
    }

    /// Whether the root is one of the tree's coordinators, which break their links when they are told to.
    var isInhabitant: Bool { kind == .embedded }

    /// The paths of the tree.
    var paths: [String] {
        let leaves = (0..<plan.parents).flatMap { parent in (0..<plan.leaves(of: parent)).map { "/p\(parent)/l\($0)" } }
        let parents = (0..<plan.parents).map { "/p\($0)" }
        let senders = kind == .embedded ? (0..<plan.senders).map { "/s\($0)" } : parents.map { "\($0)/s" }
        let members = kind == .embedded ? (0..<plan.pool).map { "/pool/\($0 + 1)" } : []
        return ["/"] + parents + leaves + senders + members
    }

    /// The programs are in one directory, as they are built.
    private static func program(_ name: String) -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let path = String(decoding: buffer[..<max(count, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/") + "/\(name)"
    }

    /// The daemon's file: the parents, each with a sender.
    private var configuration: String {
        let children = (0..<plan.parents).map { number in
            """
              - name: p\(number)
                worker:
                  executable: \(Self.program("ChaosTree"))
                  coordinator: ParentCoordinator
                  configuration: { number: \(number), hasSender: true }
                stop_timeout: 10s
            """
        }
        return """
            children:
            \(children.joined(separator: "\n"))
            supervision:
              strategy: one_for_one
              max_restarts: \(plan.intensity)
              period: 1s
              backoff: { minimum: \(plan.backoffMilliseconds)ms, maximum: \(plan.backoffMilliseconds * 10)ms }
            orphan_grace: \(plan.graceMilliseconds)ms

            """
    }
}
