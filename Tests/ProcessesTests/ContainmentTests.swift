import ConcurrencySupport
import Glibc
import TestSupport
import Testing

@testable import Processes

extension ProcessesTests {
    @Suite struct Containment {
        // MARK: Limits of groups, on files that behave as the kernel's

        /// A directory with the files of a control group.
        private static func group(_ controllers: String = "cpuset cpu io memory pids") throws -> TemporaryDirectory {
            let directory = try TemporaryDirectory()
            let files = ["cgroup.controllers": controllers + "\n", "cgroup.subtree_control": "", "cgroup.procs": ""]
            for (name, text) in files { try Files.write(text, to: directory.file(name)) }
            return directory
        }

        @Test func theControllersAreTurnedOnForTheGroupsBelow() throws {
            let group = try Self.group()
            try ControlGroup.turnControllersOn(in: group.path)
            // Each of `+cpu`, `+memory` and `+pids` is written at the beginning of this file.
            #expect(Files.text(of: group.file("cgroup.subtree_control")) == "+pidsry")
            #expect(access(group.file(ControlGroup.supervisorName), F_OK) == 0, "there is a group to move into")
            try Files.write("cpu memory pids\n", to: group.file("cgroup.subtree_control"))
            try ControlGroup.turnControllersOn(in: group.path)
            #expect(Files.text(of: group.file("cgroup.subtree_control")) == "cpu memory pids\n", "what is on is left alone")
        }

        @Test func whatIsMissingIsSaid() throws {
            let group = try Self.group("cpu io")
            let error = #expect(throws: ProcessError.self) { try ControlGroup.turnControllersOn(in: group.path) }
            #expect(
                error?.message.contains("has no controllers for memory, pids") == true && error?.message.contains("Delegate=yes") == true
            )
            let none = #expect(throws: ProcessError.self) { try ControlGroup.hold(GroupLimits(memory: 1), in: nil) }
            #expect(none?.message.contains("may make no control groups below its own") == true)
        }

        @Test func limitsAreWrittenAsTheKernelReadsThem() throws {
            let directory = try TemporaryDirectory()
            for name in ["memory.max", "cpu.max", "pids.max"] { try Files.write("", to: directory.file(name)) }
            let group = ControlGroup(directory: directory.path)
            try group.set(GroupLimits(memory: 64 << 20, cpus: 1.5, pids: 32))
            #expect(
                ["memory.max", "cpu.max", "pids.max"].map { Files.text(of: directory.file($0)) } == ["67108864", "150000 100000", "32"]
            )
            unlink(directory.file("pids.max"))
            let error = #expect(throws: ProcessError.self) { try group.set(GroupLimits(pids: 1)) }
            #expect(error?.message.contains("pids.max can't be set to 1: No such file or directory") == true)
            #expect(ControlGroup.outOfMemoryKills(events: "low 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 0\n") == 3)
            #expect(ControlGroup.outOfMemoryKills(events: "") == 0)
        }

        /// The directory of the group is gone, lacks the file by which a process joins the group, or has one that refuses.
        @Test(arguments: [(false, nil, ENOENT), (true, nil, ENOENT), (true, "/dev/full", ENOSPC)] as [(Bool, String?, Int32)])
        func nothingIsStartedWithoutItsLimits(isThere: Bool, processes: String?, errno: Int32) async throws {
            try await withTemporaryDirectory { directory in
                let group = ControlGroup(directory: directory.file("group"))
                if isThere { try #require(mkdir(group.directory, 0o700) == 0) }
                if let processes { try #require(symlink(processes, "\(group.directory)/cgroup.procs") == 0) }
                func specification(_ limits: GroupLimits?) -> ProcessSpecification {
                    var specification = shell("exit 5")
                    specification.controlGroup = group
                    specification.attributes.groupLimits = limits
                    return specification
                }
                #expect(try await run(specification(nil)).0 == .exited(code: 5))
                let limited = specification(GroupLimits(pids: 10))
                let error = await #expect(throws: ProcessError.self) { try await run(limited) }
                #expect(error?.code == .spawnFailed && error?.errno == errno)
                let message = error?.message ?? ""
                #expect(message.contains("can't join the control group that is to hold its limits"), "\(message)")
            }
        }

        // MARK: Limits of groups, by the kernel

        /// Whether the kernel holds limits for this process's children; says so loudly when it doesn't.
        private static let isHeld: Bool = {
            ControlGroup.enterLeaf()
            guard let group = ControlGroup.make(for: "limitsprobe") else {
                print("NOT TESTED: limits of control groups, since this process may make none")
                return false
            }
            defer { group.remove() }
            do throws(ProcessError) {
                try ControlGroup.hold(GroupLimits(pids: 10), in: group)
                return true
            } catch {
                print("NOT TESTED: limits of control groups: \(error.message)")
                return false
            }
        }()

        @Test(.enabled(if: isHeld, "no control group of version 2 with the controllers cpu, memory and pids is left to this process"))
        func theKernelHoldsTheLimits() async throws {
            for (limits, script) in [
                (GroupLimits(memory: 32 << 20), "head -c 200000000 /dev/zero | tail; echo survived $?"),
                (GroupLimits(pids: 3), "for i in 1 2 3 4 5 6; do sleep 5 & done; echo survived"),
            ] {
                let entry = ProcessMark.makeEntry()
                let group = try #require(ControlGroup.make(for: entry))
                defer { group.remove() }
                try ControlGroup.hold(limits, in: group)
                var specification = shell(script)
                specification.controlGroup = group
                let (_, output) = try await run(specification)
                if limits.memory != nil {
                    #expect(ControlGroup.outOfMemoryKills(in: entry) > 0)
                } else {
                    #expect(!output.contains("survived"))
                }
                group.kill()
            }
        }

        // MARK: What families have used

        @Test func aFamilyIsTheSessionAndWhatDescendsFromIt() async throws {
            // The second child leaves the session; each has its own memory, and the third has burned time and is waited for.
            let script = "sh -c 'sleep 1000' & setsid sleep 1000 & i=0; (while [ $i -lt 300000 ]; do i=$((i+1)); done); echo ready; wait"
            let output = Transcript()
            var specification = shell(script)
            specification.standardOutput = output.destination
            try await withChild(specification) { child in
                try await eventually("it's ready") { output.text.contains("ready") }
                let number = child.identity.processID
                var sum: FamilyUsage.Sum?
                try await eventually("its children run") {
                    sum = FamilyUsage(of: [number, getpid()], alone: [getpid()]).sums[number]
                    return (sum?.count ?? 0) >= 3
                }
                let (family, alone) = (try #require(sum), try #require(ProcessUsage(of: number)))
                #expect(family.usage.startTime == alone.startTime && family.usage.residentBytes > alone.residentBytes)
                #expect(family.usage.ticks > alone.ticks, "the time of what has ended counts")
                let here = FamilyUsage(of: [number, getpid()], alone: [getpid()]).sums[getpid()]
                #expect(here?.count == 1, "a supervisor counts by itself")
                #expect(FamilyUsage.residentBytes(of: child.identity) ?? 0 > Int(alone.residentBytes))
                let below = Set(shellSleepers(of: number))
                #expect(FamilyUsage.residentBytes(of: child.identity, without: below) ?? 0 < Int(family.usage.residentBytes))
                kill(-number, SIGKILL)
                #expect(shellSleepers(of: number).allSatisfy { kill($0, SIGKILL) == 0 })
            }
            #expect(FamilyUsage(of: [1_999_999_999]).sums.isEmpty)
        }

        /// The children of a process, in whatever session.
        private func shellSleepers(of number: Int32) -> [Int32] { (try? ProcessTable.children(of: number)) ?? [] }
    }
}
