import Glibc
import TestSupport
import Testing

@testable import Processes

extension ProcessesTests {
    @Suite(.enabled(if: ControlGroup.own != nil, "this process may make no control groups below its own"))
    struct ControlGroups {
        init() { ControlGroup.enterLeaf() }

        /// Leaves everything by which a descendant is found otherwise: the group, the session, the parent and the environment; and won't end.
        private static func escaping(_ sleepers: Sleepers) -> ProcessSpecification {
            shell(
                "setsid env -i setsid sh -c \"trap '' TERM HUP INT; (trap '' TERM; exec sleep \(sleepers.seconds)) & exit\" & exec sleep 1000"
            )
        }

        @Test func aChildBeginsInItsGroupWhichEndsAllThatDescendsFromIt() async throws {
            let sleepers = Sleepers()
            defer { sleepers.end() }
            let entry = ProcessMark.makeEntry()
            var specification = Self.escaping(sleepers)
            let group = try #require(ControlGroup.make(for: entry))
            specification.controlGroup = group
            let child = try await ProcessSpawner.shared.spawn(specification)
            // The shell that has forked the sleeper may still be about to end.
            try await eventually("it sleeps, and all that's in the group are it and its leader") {
                sleepers.living.count == 1 && Set(group.processes) == Set(sleepers.living.map(\.processID) + [child.identity.processID])
            }
            #expect(ControlGroup.existing(for: entry) == group)
            let left = await ProcessFamily.end([ProcessFamily(leader: child.identity, entry: entry)], by: .now + .seconds(20))
            #expect(left.isEmpty && sleepers.living.isEmpty && !child.identity.isAlive)
            #expect(await child.waitForExit() == .signaled(.kill, coreDumped: false))
            #expect(ControlGroup.existing(for: entry) == nil, "the directory goes with the last process")
            #expect(access(group.directory, F_OK) != 0)
        }

        /// What the group is for: without it the same descendant is found by nothing.
        @Test func withoutAGroupSuchADescendantIsNotFound() async throws {
            let sleepers = Sleepers()
            defer { sleepers.end() }
            let entry = ProcessMark.makeEntry()
            let child = try await ProcessSpawner.shared.spawn(Self.escaping(sleepers))
            try await eventually("it sleeps") { sleepers.living.count == 1 }
            await ProcessFamily.end([ProcessFamily(leader: child.identity, entry: entry)], by: .now + .seconds(20))
            #expect(!child.identity.isAlive)
            #expect(sleepers.living.count == 1)
        }

        @Test func aGroupThatForksAllTheTimeEnds() async throws {
            let entry = ProcessMark.makeEntry()
            let group = try #require(ControlGroup.make(for: entry))
            var specification = shell("f() { (f) & (f) & }; ulimit -u 2>/dev/null; while :; do (setsid sleep 0.01 &) ; done")
            specification.controlGroup = group
            let child = try await ProcessSpawner.shared.spawn(specification)
            try await eventually("it forks") { group.processes.count > 3 }
            let left = await ProcessFamily.end([ProcessFamily(leader: child.identity, entry: entry)], by: .now + .seconds(20))
            #expect(left.isEmpty)
            _ = await child.waitForExit()
            #expect(ControlGroup.existing(for: entry) == nil)
        }

        @Test func theErrorsOfASpawnAreTheSameInAGroup() async throws {
            let group = try #require(ControlGroup.make(for: ProcessMark.makeEntry()))
            defer { group.remove() }
            var specification = ProcessSpecification(executable: "/no/such/program")
            specification.controlGroup = group
            do {
                _ = try await ProcessSpawner.shared.spawn(specification)
                Issue.record("it was spawned")
            } catch {
                #expect(error.code == .executableNotFound)
            }
            specification = shell("pwd; echo $X; exit 5")
            specification.workingDirectory = "/usr"
            specification.environment = ["X": "y", "PATH": "/bin"]
            specification.controlGroup = group
            specification.diesWithParent = true
            let (status, output) = try await run(specification)
            #expect(status == .exited(code: 5))
            #expect(output == "/usr\ny\n")
            #expect(group.processes.isEmpty)
        }

        @Test func aChildIsSpawnedThoughItsGroupIsGone() async throws {
            let group = try #require(ControlGroup.make(for: ProcessMark.makeEntry()))
            group.remove()
            var specification = shell("exit 5")
            specification.controlGroup = group
            #expect(try await run(specification).0 == .exited(code: 5))
        }

        @Test func strangeNamesAreNotPaths() {
            for entry in ["", "../x", "a/b", ".", "a\0b"] { #expect(ControlGroup.existing(for: entry) == nil) }
        }

        @Test func aThousandSpawnsIntoGroupsTakeNoLonger() async throws {
            func time(_ isGrouped: Bool) async throws -> Duration {
                let start = ContinuousClock.now
                for _ in 0..<200 {
                    var specification = ProcessSpecification(executable: "/bin/true")
                    let group = isGrouped ? ControlGroup.make(for: ProcessMark.makeEntry()) : nil
                    specification.controlGroup = group
                    #expect(await (try ProcessSpawner.shared.spawn(specification)).waitForExit() == .exited(code: 0))
                    group?.remove()
                }
                return (ContinuousClock.now - start) / 200
            }
            try await expectPromptly(within: .milliseconds(20)) {
                let (without, with) = (try await time(false), try await time(true))
                print("a spawn and its exit: \(without), with a control group \(with)")
                return with
            }
        }
    }
}
