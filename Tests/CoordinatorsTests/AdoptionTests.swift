import Fixtures
import Glibc
import Links
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

/// Tests with a program that embeds the runtime, is killed, and runs again in the same directory.
@Suite("A program that was killed and runs again", .timeLimit(minutes: 3))
struct AdoptionTests {
    @Test("adopts its workers, again and again; a stop then leaves nothing")
    func embedded() async throws {
        let program = try EmbeddingProgram(grace: 60)
        var current = try await program.start()
        let before = try await program.lives(of: current, ["/a", "/b"])
        for _ in 0..<4 {
            try current.send(.kill)
            _ = await current.waitForExit()
            current = try await program.start()
            #expect(try await program.lives(of: current, ["/a", "/b"]) == before)
        }
        _ = await current.terminate(grace: .patient(.seconds(20)))
        #expect(before.values.allSatisfy { !$0.isAlive })
        #expect(Files.names(in: "\(program.directory.path)/run").isEmpty)
    }

    @Test("adopts a life that a spare has taken as any other, and ends the spares themselves")
    func spares() async throws {
        let program = try EmbeddingProgram(grace: 60, spares: 1)
        var current = try await program.start()
        // When the test fails, the program would live on.
        defer { try? current.send(.kill) }
        var before = try await program.lives(of: current, ["/a", "/b"])
        for round in 1...3 {
            let spares = try await program.spares(of: current, count: 2)
            try #require(before["/a"]).send(.kill)
            try await eventually("a spare has taken the life") {
                let now = try await program.lives(of: current, ["/a", "/b"])
                return now["/a"] != before["/a"] && now["/a"].map(spares.contains) == true
            }
            before = try await program.lives(of: current, ["/a", "/b"])
            let idle = try await program.spares(of: current, count: 2)
            try current.send(.kill)
            _ = await current.waitForExit()
            current = try await program.start()
            #expect(try await program.lives(of: current, ["/a", "/b"]) == before)
            try await eventually("it's adopted") { program.adoptions(of: "/a") == round }
            // They are ended before the tree begins.
            #expect(idle.allSatisfy { !$0.isAlive })
        }
        let spares = try await program.spares(of: current, count: 2)
        _ = await current.terminate(grace: .patient(.seconds(20)))
        #expect((spares + before.values).allSatisfy { !$0.isAlive })
        #expect(Files.names(in: "\(program.directory.path)/run").isEmpty)
    }

    @Test("starts anew without a grace, and its workers have died with it")
    func withoutGrace() async throws {
        let program = try EmbeddingProgram(grace: 0)
        let first = try await program.start()
        let before = try await program.lives(of: first, ["/a", "/b"])
        try first.send(.kill)
        _ = await first.waitForExit()
        let second = try await program.start()
        let after = try await program.lives(of: second, ["/a", "/b"])
        #expect(before.values.allSatisfy { !$0.isAlive } && after["/a"] != before["/a"])
        _ = await second.terminate(grace: .patient(.seconds(20)))
    }

    @Test("is refused while the first one lives")
    func twice() async throws {
        let program = try EmbeddingProgram(grace: 60)
        let first = try await program.start()
        let before = try await program.lives(of: first, ["/a", "/b"])
        let second = try await program.start()
        #expect(await second.waitForExit() != .exited(code: 0))
        #expect(try await program.lives(of: first, ["/a", "/b"]) == before)
        _ = await first.terminate(grace: .patient(.seconds(20)))
    }

    @Test(
        "finds a child that an adopted worker asks for before its start: the ask waits for it",
        arguments: [false, true]
    )
    func siblings(startsLater: Bool) async throws {
        let program = try EmbeddingProgram(siblings: startsLater)
        var current = try await program.start()
        let before = try await program.lives(of: current, ["/a", "/b"])
        defer {
            // When the test fails, its workers would live on for their grace.
            for process in before.values { try? process.send(.kill) }
        }
        let sibling = "\(try #require(before["/b"]).processID)"
        let gate = program.directory.file(Siblings.gate)
        for round in 1...3 {
            try await eventually("an ask is answered") { program.outcomes.contains(sibling) }
            try Files.write("", to: gate)
            try current.send(.kill)
            _ = await current.waitForExit()
            unlink(program.directory.file(Siblings.outcomes))
            current = try await program.start()
            try await eventually("the worker is adopted") { program.adoptions(of: "/a") == round }
            try await realTime(.milliseconds(300), because: "the worker asks every few milliseconds, and must not be refused")
            unlink(gate)
            try await eventually("an ask is answered") { program.outcomes.contains(sibling) }
            #expect(Set(program.outcomes).isSubset(of: [sibling]), "\(Set(program.outcomes))")
        }
        #expect(try await program.lives(of: current, ["/a", "/b"]) == before)
        try await eventually("some messages are counted") { program.counted.count > 3 }
        _ = await current.terminate(grace: .patient(.seconds(20)))
        #expect(before.values.allSatisfy { !$0.isAlive })
        // What was sent acknowledged was handled once, across the roots' deaths.
        let counted = program.counted
        #expect(counted == Array(0..<counted.count))
    }

    @Test("A record is read as it was written, and shows its secret to nobody")
    func record() throws {
        let secret = Secret.make()
        let record = AdoptableWorker(
            path: "/a b/\"ü\"",
            incarnation: 7,
            secret: AdoptableWorker.digits(of: secret),
            fingerprint: "x",
            output: "y.out"
        )
        #expect(AdoptableWorker(record.text[...]) == record && record.secretBytes == secret)
        #expect(!record.text.contains("\n") && !"\(record)".contains(record.secret))
        let family = ProcessFamily(leader: ProcessIdentity(processID: 4_711, startTime: 5), entry: "entry")
        let below = ProcessFamily(leader: ProcessIdentity(processID: 4_712, startTime: 6), entry: "")
        let entries = [
            ProcessJournal.Entry(family: family, record: record), ProcessJournal.Entry(family: below, worker: "entry"),
        ]
        var header = ProcessJournal.Header.current
        header.epoch = 9
        let text = header.text + entries.map(\.line).joined()
        let read = try #require(ProcessJournal.read(text + "a 4713 7 torn {"))
        #expect(read.header == header)
        #expect(read.entries.count == 2 && entries.allSatisfy { read.entries.contains($0) })
    }

    @Test("The fingerprint doesn't depend on the order of fields, and on everything else")
    func fingerprint() {
        func make(
            _ configuration: JSONValue = ["a": 1, "b": [1, 2], "c": ["d": "e"]],
            typeName: String = "T",
            spares: Int = 0,
            _ change: (inout WorkerProgram) -> Void = { _ in }
        ) -> String? {
            var program = WorkerProgram(executable: "/x", environment: ["a": "1", "b": "2"])
            change(&program)
            var plan = WorkerPlan()
            plan.spares = spares
            return CoordinatorDefinition(configuration: .json(configuration), place: .worker(typeName: typeName, program, plan))
                .fingerprint(nil, isCaptured: false)
        }
        let base = make()
        #expect(base != nil && base == make(["c": ["d": "e"], "b": [1, 2], "a": 1]))
        // The number of those that wait makes no difference to the life.
        #expect(make(spares: 1) == base)
        let all = [
            base, make(["a": 2, "b": [1, 2], "c": ["d": "e"]]), make(["a": 1, "b": [12], "c": ["d": "e"]]), make(typeName: "U"),
            make { $0.environment["a"] = "2" }, make { $0.arguments = ["z"] }, make { $0.attributes.user = "nobody" },
            make { $0.attributes.user = "daemon" }, make { $0.attributes.group = "nogroup" },
        ]
        #expect(Set(all).count == all.count && !all.contains(nil), "\(all)")
    }
}

/// What a process has got of its definition: a next runtime whose definition differs in that must not adopt it.
@Suite("What makes two processes the same")
struct FingerprintTests {
    /// A change of a stored property, and whether the process itself would differ; otherwise only its parent uses the value.
    private struct Change<Value>: Sendable {
        let isOfProcess: Bool
        let make: @Sendable (inout Value) -> Void

        static func process(_ make: @escaping @Sendable (inout Value) -> Void) -> Change { Change(isOfProcess: true, make: make) }
        static func parent(_ make: @escaping @Sendable (inout Value) -> Void) -> Change { Change(isOfProcess: false, make: make) }
    }

    private static let attributes: [String: Change<ProcessAttributes>] = [
        "user": .process { $0.user = "nobody" }, "group": .process { $0.group = "nogroup" }, "umask": .process { $0.umask = 0o27 },
        "nice": .process { $0.nice = 3 }, "limits": .process { $0.limits[.openFiles] = .init(100) },
        "oomScoreAdjustment": .process { $0.oomScoreAdjustment = 5 }, "capabilities": .process { $0.capabilities = [.netBindService] },
        "groupLimits": .process { $0.groupLimits = GroupLimits(pids: 9) },
    ]

    private static let programs: [String: Change<ProgramSpecification>] = [
        "command": .process { $0.command.append("x") }, "environment": .process { $0.environment["A"] = "b" },
        "directory": .process { $0.directory = "/tmp" }, "environmentFiles": .process { $0.environmentFiles = ["/e"] },
        "inheritsEnvironment": .process { $0.inheritsEnvironment = false }, "attributes": .process { $0.attributes.nice = 3 },
        "readiness": .process { $0.readiness = .notify }, "watchdog": .process { $0.watchdog = .seconds(3) },
        "sockets": .process { $0.sockets = GivenSockets([SocketSpecification(name: "a", address: .tcp(host: "127.0.0.1", port: 80))]) },
        "standardInput": .process { $0.standardInput = .open }, "stopSignal": .parent { $0.stopSignal = .interrupt },
        "stopsGroup": .parent { $0.stopsGroup = true }, "normalExitCodes": .parent { $0.normalExitCodes = [3] },
        "startTimeout": .parent { $0.startTimeout = .seconds(3) }, "startSeconds": .parent { $0.startSeconds = .seconds(3) },
        "health": .parent { $0.health = HealthCheck(.tcp(port: 1)) }, "recycling": .parent { $0.recycling.age = .seconds(3) },
        "isOneshot": .parent { $0.isOneshot = true }, "memoryLimit": .parent { $0.memoryLimit = 1 },
        "outlivesRuntime": .parent { $0.outlivesRuntime = true },
        "hooks": .parent { $0.hooks.afterEnd = ProgramHooks.Command(["true"]) },
    ]

    private static let workers: [String: Change<WorkerProgram>] = [
        "executable": .process { $0.executable = "/y" }, "arguments": .process { $0.arguments = ["z"] },
        "environment": .process { $0.environment["A"] = "b" }, "directory": .process { $0.directory = "/tmp" },
        "environmentFiles": .process { $0.environmentFiles = ["/e"] }, "inheritsEnvironment": .process { $0.inheritsEnvironment = false },
        "attributes": .process { $0.attributes.nice = 3 }, "fence": .process { $0.fence = 7 },
    ]

    private static let plans: [String: Change<WorkerPlan>] = [
        "dataLimit": .process { $0.dataLimit = 1 << 30 }, "spares": .parent { $0.spares = 1 },
        "recycling": .parent { $0.recycling.messages = 3 },
        "memoryLimit": .parent { $0.memoryLimit = 1 << 30 }, "hang": .parent { $0.hang = .restart },
        "overlaps": .parent { $0.overlaps = true },
    ]

    /// Compares the fingerprints before and after each change, and the changes with the stored properties that there are.
    private func check<Value>(_ changes: [String: Change<Value>], of base: Value, _ fingerprint: (Value) -> String?) throws {
        let properties = Set(Mirror(reflecting: base).children.compactMap(\.label))
        #expect(properties == Set(changes.keys), "a property of \(Value.self) that the table doesn't have, or has no more")
        let former = try #require(fingerprint(base))
        for (name, change) in changes {
            var value = base
            change.make(&value)
            #expect((fingerprint(value) != former) == change.isOfProcess, "\(Value.self).\(name)")
        }
    }

    @Test("Each property of a program, of a worker and of what surrounds them counts, unless only the parent uses it")
    func properties() throws {
        let program = ProgramSpecification(command: ["a"])
        try check(Self.programs, of: program, \.fingerprint)
        func worker(_ program: WorkerProgram, _ plan: WorkerPlan) -> String? {
            CoordinatorDefinition(configuration: .json([:]), place: .worker(typeName: "T", program, plan)).fingerprint(
                nil,
                isCaptured: false
            )
        }
        try check(Self.workers, of: WorkerProgram(executable: "/x")) { worker($0, WorkerPlan()) }
        try check(Self.plans, of: WorkerPlan()) { worker(WorkerProgram(executable: "/x"), $0) }
        try check(Self.attributes, of: ProcessAttributes()) { attributes in
            var specification = program
            specification.attributes = attributes
            return specification.fingerprint
        }
        try check(Self.attributes, of: ProcessAttributes()) { worker(WorkerProgram(executable: "/x", attributes: $0), WorkerPlan()) }
    }
}

/// The fixture as a program of its own, with two workers.
private struct EmbeddingProgram {
    let directory: TemporaryDirectory
    private let variables: [String: String]
    private let keepsRecords: Bool
    private let log = Transcript()

    init(grace: Int, spares: Int = 0) throws {
        directory = try TemporaryDirectory()
        keepsRecords = grace > 0
        variables = [
            Fixture.bootstrapVariable: directory.path, Fixture.graceVariable: String(grace), Fixture.sparesVariable: String(spares),
        ]
    }

    /// The program whose one worker asks for the other.
    ///
    /// - Parameter startsLater: Whether the root starts them once it's ready.
    init(siblings startsLater: Bool) throws {
        directory = try TemporaryDirectory()
        keepsRecords = true
        variables = [Siblings.variable: directory.path].merging(startsLater ? [Siblings.laterVariable: "1"] : [:]) { $1 }
    }

    func start() async throws -> ChildProcess {
        var specification = ProcessSpecification(
            executable: BuiltProgram("FixtureWorker").path,
            standardOutput: log.destination,
            standardError: .sameAsOutput
        )
        specification.environment = variables.merging(["PATH": "/usr/bin:/bin"]) { $1 }
        return try await ProcessSpawner.shared.spawn(specification)
    }

    /// The outcomes of the asks of one worker for the other, since the file was removed.
    var outcomes: [String] {
        (Files.text(of: directory.file(Siblings.outcomes)) ?? "").split(separator: "\n").map(String.init)
    }

    /// The numbers that the one worker has counted for the other.
    var counted: [Int] { (Files.text(of: directory.file(Siblings.count)) ?? "").split(separator: "\n").compactMap { Int($0) } }

    /// The number of times that a worker was adopted, as the programs' logs say.
    func adoptions(of path: String) -> Int {
        log.text.split(separator: "\n").count { $0.contains("of a former runtime is adopted") && $0.contains("coordinator.path=\(path)") }
    }

    /// Waits until a program has workers at some paths, and returns them, as its journal says.
    func lives(of program: ChildProcess, _ paths: Set<String>) async throws -> [String: ProcessIdentity] {
        var lives: [String: ProcessIdentity] = [:]
        try await eventually("all live") {
            lives = [:]
            let entries = entries(of: program)
            // Without a grace there are no records, and any two will do; with one, a life has none until its parent has told what it is.
            for entry in entries where entry.record != nil || !keepsRecords {
                lives[entry.record?.path ?? (lives["/a"] == nil ? "/a" : "/b")] = entry.family.leader
            }
            return Set(lives.keys) == paths
        }
        return lives
    }

    /// Waits until a program has a number of processes that wait for a life, and returns them.
    func spares(of program: ChildProcess, count: Int) async throws -> [ProcessIdentity] {
        var spares: [ProcessIdentity] = []
        try await eventually("\(count) wait") {
            spares = entries(of: program).filter { $0.record == nil }.map(\.family.leader)
            return spares.count == count
        }
        return spares
    }

    /// The processes that live, as a program's journal says.
    private func entries(of program: ChildProcess) -> [ProcessJournal.Entry] {
        Files.names(in: "\(directory.path)/run").filter { $0.hasSuffix(".processes") }.flatMap { name -> [ProcessJournal.Entry] in
            guard let text = Files.text(of: "\(directory.path)/run/\(name)"), let journal = ProcessJournal.read(text),
                journal.header.owner == program.identity
            else { return [] }
            return journal.entries.filter(\.family.leader.isAlive)
        }
    }
}
