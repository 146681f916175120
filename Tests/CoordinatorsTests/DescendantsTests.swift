import Fixtures
import Glibc
import Logging
import Processes
import TestSupport
import Testing

@testable import Coordinators

/// Whatever a child forks ends with it, before its path lives again.
@Suite("What descends from a child", .timeLimit(minutes: 3))
struct DescendantsTests {
    @Test("The descendants of a killed program are gone when its path lives again, and at the end", arguments: Sleepers.Kind.allCases)
    func program(_ kind: Sleepers.Kind) async throws {
        let sleepers = Sleepers()
        defer { sleepers.end() }
        try await withRoot { runtime in
            try await runtime.ask(Fixture.StartProgram("program", sleepers.command(kind)), timeout: .patient(.seconds(30)))
            for life in 1...3 {
                try await eventually("life \(life) sleeps") { sleepers.living.count == 1 }
                let former = sleepers.living
                let pid = try await runtime.snapshot(of: "/program").processID
                kill(try #require(pid), SIGKILL)
                try await eventually("it lives again") {
                    let snapshot = try await runtime.snapshot(of: "/program")
                    return snapshot.state == .active && snapshot.incarnation == UInt32(life) + 1
                }
                #expect(former.filter(\.isAlive).isEmpty)
            }
            try await eventually("the last sleeps") { sleepers.living.count == 1 }
        }
        #expect(sleepers.living.isEmpty)
    }

    @Test("The descendants of a killed worker's programs are gone when its path lives again", arguments: Sleepers.Kind.allCases)
    func worker(_ kind: Sleepers.Kind) async throws {
        let sleepers = Sleepers()
        defer { sleepers.end() }
        try await withRoot("a", in: .worker) { runtime in
            _ = try await runtime.perform(.startGrandchild("b", inWorker: true), at: "/a")
            for _ in 0..<3 {
                // The second time it's there already, as a child that is started anew.
                _ = try await runtime.perform(.startGrandchild("b", inWorker: true), at: "/a")
                _ = try await runtime.perform(.startProgram("c", sleepers.command(kind)), at: "/a/b")
                try await eventually("it sleeps") { sleepers.living.count == 1 }
                let former = sleepers.living
                let before = try await runtime.ask(Fixture.WhereAmI(), at: "/a")
                kill(before.pid, SIGKILL)
                _ = try await runtime.whereIsIt("/a", after: before)
                #expect(former.filter(\.isAlive).isEmpty)
            }
        }
        #expect(sleepers.living.isEmpty)
    }

    @Test("A group whose number another group has taken is left alone")
    func stranger() async throws {
        let sleepers = Sleepers()
        defer { sleepers.end() }
        let stranger = try await ProcessSpawner.shared.spawn(
            ProcessSpecification(executable: "/bin/sh", arguments: ["-c", "sleep \(sleepers.seconds) & wait"])
        )
        try await eventually("it sleeps") { sleepers.living.count == 1 }
        let former = ProcessIdentity(processID: stranger.identity.processID, startTime: stranger.identity.startTime - 1)
        await ProcessFamily.end([ProcessFamily(leader: former, entry: "none")])
        #expect(stranger.identity.isAlive && sleepers.living.count == 1)
        await ProcessFamily.end([ProcessFamily(leader: stranger.identity, entry: "none")])
        #expect(!stranger.identity.isAlive && sleepers.living.isEmpty)
    }

    @Test("The remains of a killed runtime in the directory are ended before the next one starts", arguments: Sleepers.Kind.allCases)
    func former(_ kind: Sleepers.Kind) async throws {
        let sleepers = Sleepers()
        defer { sleepers.end() }
        let directory = try TemporaryDirectory()
        let command = sleepers.command(kind)
        var specification = ProcessSpecification(executable: "/usr/bin/env", arguments: command)
        // The process that has written the journal is dead.
        let dead = ProcessIdentity(processID: getpid(), startTime: 1)
        specification.environment = ["PATH": "/usr/bin:/bin", ProcessMark.variable: "other/\(kind)entry"]
        let child = try await ProcessSpawner.shared.spawn(specification)
        try await eventually("it sleeps") { sleepers.living.count == 1 }
        let journal = """
            coordinators 1 \(dead.processID) \(dead.startTime) \(ProcessJournal.Header.current.boot)
            + \(child.identity.processID) \(child.identity.startTime) \(kind)entry
            + 4711 1 cut o
            """
        try Files.write(journal, to: directory.file("1234567.processes"))
        try Files.write("", to: directory.file("1234567.sock"))
        try await withRoot(options: Support.options.with { $0.runtimeDirectory = directory.path }) { _ in
            #expect(!child.identity.isAlive)
            #expect(directory.entries == ["root.lock"])
        }
        // The children of a group that was left in the test's own process are not among the orphans of anybody else.
        #expect(sleepers.living.isEmpty || kind == .session || kind == .deepSession || kind == .group)
    }

    @Test("A group of the journal whose leader is gone is ended only if its members carry the mark", arguments: [true, false])
    func remembered(_ isMarked: Bool) async throws {
        let sleepers = Sleepers()
        defer { sleepers.end() }
        let directory = try TemporaryDirectory()
        // Like no other: what carries it is ended wherever it is.
        let entry = ProcessMark.makeEntry()
        var specification = ProcessSpecification(executable: "/bin/sh", arguments: ["-c", "sleep \(sleepers.seconds) &"])
        specification.environment = ["PATH": "/usr/bin:/bin", ProcessMark.variable: isMarked ? "other/\(entry)" : "other/later"]
        specification.killsGroupAtExit = false
        let child = try await ProcessSpawner.shared.spawn(specification)
        _ = await child.waitForExit()
        try await eventually("it sleeps") { sleepers.living.count == 1 }
        let journal = """
            coordinators 1 \(getpid()) 1 \(ProcessJournal.Header.current.boot)
            + \(child.identity.processID) \(child.identity.startTime - 1) \(entry)

            """
        try Files.write(journal, to: directory.file("1234567.processes"))
        try await withRoot(options: Support.options.with { $0.runtimeDirectory = directory.path }) { _ in
            #expect(sleepers.living.count == (isMarked ? 0 : 1))
            #expect(directory.entries == ["root.lock"])
        }
    }

    @Test(
        "Of what a worker of another user reports only the leader is ended, whoever is in its session, also by the next daemon",
        arguments: [false, true]
    )
    func sharedSession(isRemembered: Bool) async throws {
        let (leader, member) = (Sleepers(), Sleepers())
        defer {
            leader.end()
            member.end()
        }
        // Where this process is root's, the leader is another user's and the member root's, as in the session of a login.
        let isOther = geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0
        let becoming = isOther ? "/usr/bin/setpriv --reuid=65534 --clear-groups " : ""
        let script = "sleep \(member.seconds) & exec \(becoming)sleep \(leader.seconds)"
        let child = try await ProcessSpawner.shared.spawn(ProcessSpecification(executable: "/bin/sh", arguments: ["-c", script]))
        try await eventually("both sleep") { leader.living == [child.identity] && member.living.count == 1 }
        let told = ProcessReport(ProcessFamily(leader: child.identity, entry: "entry"), lives: true)
        var family = try #require(told.limited(to: isOther ? 65_534 : getuid())).family
        if isRemembered {
            let text = ProcessJournal.Header.current.text + ProcessJournal.Entry(family: family, worker: "worker").line
            family = try #require(ProcessJournal.read(text)?.living.first)
        }
        await ProcessFamily.end([family], areRemembered: isRemembered)
        #expect(leader.living.isEmpty && member.living.count == 1)
    }

    @Test("A journal of another boot, or another namespace of process numbers, ends nothing")
    func elsewhere() throws {
        let boot = ProcessJournal.Header.current.boot
        let parts = boot.split(separator: "/")
        try #require(parts.count == 2)
        let own = ProcessIdentity.current
        for (other, isHere) in [(boot, true), ("\(parts[0])/1", false), ("0/\(parts[1])", false), ("\(parts[0])", false)] {
            let read = try #require(ProcessJournal.read("coordinators 1 \(own.processID) \(own.startTime) \(other)\n"))
            #expect(read.header.isOfThisBoot == isHere && read.header.isAlive == isHere)
        }
    }

    @Test("A process that forks and exits again and again during the search is found", arguments: [true, false])
    func hopper(_ isStray: Bool) async throws {
        let sleepers = Sleepers()
        defer { sleepers.end() }
        let hop = "hop() { if [ $1 -gt 0 ]; then (hop $(($1 - 1))) & exit; fi; exec sleep \(sleepers.seconds); }; hop 300"
        for round in 1...5 {
            let entry = ProcessMark.makeEntry()
            var specification = ProcessSpecification(executable: "/bin/sh", arguments: ["-c", "setsid sh -c '\(hop)' & exit"])
            specification.environment = ["PATH": "/usr/bin:/bin", ProcessMark.variable: "other/\(entry)"]
            // A process that is found by its mark alone isn't ended with its leader.
            specification.killsGroupAtExit = !isStray
            let leader = try await ProcessSpawner.shared.spawn(specification)
            _ = await leader.waitForExit()
            try await realTime(.milliseconds(5 * round), because: "each round is to find another moment of the chain")
            let left =
                isStray
                ? await LeftoverProcesses.end(by: .now + .seconds(20)) { $0 == entry }
                : await ProcessFamily.end([ProcessFamily(leader: leader.identity, entry: entry)])
            #expect(left.isEmpty)
        }
        try await realTime(.seconds(1), because: "a process that escaped is found when it has forked three hundred times, and sleeps")
        #expect(sleepers.living.isEmpty)
    }

    @Test("Processes with a killed runtime's mark are ended, and those with a living one's or another container's are left alone")
    func marks() async throws {
        let sleepers = (Sleepers(), Sleepers(), Sleepers())
        defer {
            sleepers.0.end()
            sleepers.1.end()
            sleepers.2.end()
        }
        let directory = try TemporaryDirectory()
        let own = RuntimeCore.markEntry(RuntimeFiles(directory.path), number: 1)
        let dead = own.replacing(".\(ProcessIdentity.current.startTime).", with: ".1.")
        try #require(own != dead)
        // To that namespace of process numbers this process may be another, or none.
        let foreign = RuntimeCore.markEntry(RuntimeFiles(directory.path), number: 1, boot: "another").replacing(
            ".\(ProcessIdentity.current.startTime).",
            with: ".1."
        )
        for (sleeper, mark) in [(sleepers.0, dead), (sleepers.1, own), (sleepers.2, foreign)] {
            var specification = ProcessSpecification(executable: "/usr/bin/env", arguments: sleeper.command(.deepSession))
            specification.environment = ["PATH": "/usr/bin:/bin", ProcessMark.variable: "outer/\(mark)/inner"]
            _ = try await ProcessSpawner.shared.spawn(specification)
            try await eventually("it sleeps") { sleeper.living.count == 1 }
        }
        try await withRoot(options: Support.options.with { $0.runtimeDirectory = directory.path }) { _ in
            #expect(sleepers.0.living.isEmpty)
            #expect(sleepers.1.living.count == 1)
            #expect(sleepers.2.living.count == 1)
        }
    }

    @Test("A directory is the same to this process, and not to one that is gone or elsewhere")
    func seenDirectory() async throws {
        let directory = try TemporaryDirectory()
        let child = try await ProcessSpawner.shared.spawn(ProcessSpecification(executable: "/bin/sleep", arguments: ["1000"]))
        #expect(RuntimeFiles(directory.path).isSeen(by: getpid()))
        #expect(RuntimeFiles(directory.path).isSeen(by: child.identity.processID))
        #expect(!RuntimeFiles(directory.path + "/missing").isSeen(by: getpid()))
        _ = await child.terminate(grace: .patient(.seconds(10)))
        #expect(!RuntimeFiles(directory.path).isSeen(by: child.identity.processID))
    }

    @Test("A new runtime logs what it ends of a killed one")
    func logged() async throws {
        let directory = try TemporaryDirectory()
        let child = try await ProcessSpawner.shared.spawn(ProcessSpecification(executable: "/bin/sleep", arguments: ["1000"]))
        let journal = """
            coordinators 1 4711 1 \(ProcessJournal.Header.current.boot)
            + \(child.identity.processID) \(child.identity.startTime) entry

            """
        try Files.write(journal, to: directory.file("1234567.processes"))
        let log = RecordedLog(.notice)
        var options = Support.options
        options.runtimeDirectory = directory.path
        options.logger = log.logger
        try await withRoot(options: options) { _ in #expect(!child.identity.isAlive) }
        let lines = log.lines.filter { $0.contains("what a former runtime has left was ended") }
        #expect(lines.count == 1)
        for part in ["notice", directory.path, "\(child.identity.processID)", "4711", "count"] {
            #expect(lines.first?.contains(part) == true, "\(part)")
        }
        // Where nothing was left nothing is said.
        let next = RecordedLog(.notice)
        options.logger = next.logger
        try await withRoot(options: options) { _ in }
        #expect(next.lines.isEmpty)
    }

    @Test("The journal lists the living processes, and is gone after an orderly end")
    func journal() async throws {
        let directory = try TemporaryDirectory()
        try await withRoot("a", in: .worker, options: Support.options.with { $0.runtimeDirectory = directory.path }) { runtime in
            _ = try await runtime.perform(.startGrandchild("b", inWorker: true), at: "/a")
            _ = try await runtime.perform(.startProgram("c", ["sleep", "1000"]), at: "/a/b")
            let name = try #require(directory.entries.first { $0.hasSuffix(".processes") })
            let text = try #require(Files.text(of: directory.file(name)))
            let read = try #require(ProcessJournal.read(text))
            #expect(read.header == .current && read.header.isAlive && read.header.isOfThisBoot)
            #expect(read.living.count == 3)
            #expect(read.living.allSatisfy { $0.leader.isAlive && !$0.entry.isEmpty })
            try await runtime.ask(Fixture.StopChild("a"), timeout: .seconds(20))
            let later = try #require(Files.text(of: directory.file(name)))
            #expect(ProcessJournal.read(later)?.living.isEmpty == true)
        }
        #expect(directory.entries.isEmpty)
    }

    @Test("A crash loop of three hundred incarnations keeps the journal short")
    func compaction() async throws {
        let directory = try TemporaryDirectory()
        let journal = ProcessJournal(RuntimeFiles(directory.path))
        let stays = ProcessFamily(leader: ProcessIdentity(processID: 2, startTime: 1), entry: "stays")
        journal.began(stays)
        for number in 10..<10_000 {
            let family = ProcessFamily(leader: ProcessIdentity(processID: Int32(number), startTime: 7), entry: "entry")
            journal.began(family)
            journal.ended(family.leader)
        }
        let name = try #require(directory.entries.first)
        let text = try #require(Files.text(of: directory.file(name)))
        #expect(text.utf8.count < 64 << 10)
        #expect(ProcessJournal.read(text)?.living == [stays])
        journal.close()
        #expect(directory.entries.isEmpty)
    }

    @Test("A report of an end that overtakes that of the beginning leaves nothing")
    func reports() {
        let family = ProcessFamily(leader: ProcessIdentity(processID: 4711, startTime: 1), entry: "entry")
        var reported = ReportedProcesses()
        _ = reported.merge(ProcessReport(family, lives: false))
        _ = reported.merge(ProcessReport(family, lives: true))
        #expect(reported.families.isEmpty)
        _ = reported.merge(ProcessReport(family, lives: true))
        #expect(reported.families == [family])
        _ = reported.merge(ProcessReport(family, lives: false))
        #expect(reported.families.isEmpty)
        // No more than there can be, and no mark but a spawn's.
        let many = (1...70_000).map { ProcessFamily(leader: ProcessIdentity(processID: $0, startTime: 1), entry: "") }
        #expect(many.filter { reported.merge(ProcessReport($0, lives: true)) }.count == 65_536)
        let root = ProcessFamily(leader: ProcessIdentity(processID: 4711, startTime: 1), entry: "r1.2.3.4")
        let claim = ProcessReport(root, lives: true)
        #expect(ProcessReport(claim.operation, claim.payload)?.family.entry == "")
        let told = ProcessReport(family, lives: true)
        #expect(ProcessReport(told.operation, told.payload)?.family == family)
        // What a worker of another user may report: that user's processes, by no mark.
        let current = ProcessReport(ProcessFamily(leader: .current, entry: "entry"), lives: true)
        #expect(current.limited(to: getuid())?.family == ProcessFamily(leader: .current, entry: ""))
        #expect(current.limited(to: getuid() + 1) == nil)
        let other = ProcessIdentity(processID: getpid(), startTime: ProcessIdentity.current.startTime + 1)
        #expect(ProcessReport(ProcessFamily(leader: other, entry: ""), lives: true).limited(to: getuid()) == nil)
    }
}
