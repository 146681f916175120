import Control
import Processes
import TestSupport
import Testing

@Suite("The number of a child's instances", .timeLimit(minutes: 5))
struct ScaleTests {
    private static let tree = """
        children:
          - { name: web, program: { command: [sh, -c, "SCRIPT"] }, instances: 2 }
          - { name: other, program: { command: [sleep, "1000"] } }
          - { name: web-5, program: { command: [sleep, "1000"] } }
          - name: group
            children: [{ name: inner, worker: { executable: FIXTURE, coordinator: RootCoordinator }, instances: 1 }]
        """

    private static func run(_ body: (RunningDaemon) async throws -> Void) async throws {
        // Its end takes a moment, in which those of others would be seen.
        let script = "trap 'sleep 0.2; exit 0' TERM; while :; do sleep 0.05; done"
        try await RunningDaemon.with(tree.replacing("SCRIPT", with: script)) { daemon in
            try await daemon.allActive()
            try await body(daemon)
        }
    }

    @Test("Instances are added and removed, the last first; the others keep their processes, and the file differs then")
    func upAndDown() async throws {
        try await Self.run { daemon in
            let before = try await daemon.allPIDs()
            let up = try await daemon.control("scale", "/web", "4")
            #expect(up == .init(exitCode: 0, output: "+ /web-3\n+ /web-4\n/web: 4 instances (before: 2)\n"), "\(up)")
            try await daemon.allActive()
            let more = try await daemon.allPIDs()
            #expect(Set(more.keys).subtracting(before.keys) == ["/web-3", "/web-4"])
            #expect(more.filter { before[$0.key] != nil } == before)
            #expect(try await daemon.tree().children.map(\.key).prefix(4) == ["web-1", "web-2", "web-3", "web-4"])

            // The file says something else, and is what `apply` follows.
            let difference = try await daemon.control("config", "diff")
            #expect(difference.output.hasPrefix("- /web-3\n- /web-4\n"), "\(difference)")
            #expect(try await daemon.control("config", "apply").exitCode == 0)
            #expect(try await daemon.allPIDs() == before)

            let same = try await daemon.control("scale", "/web", "2")
            #expect(same == .init(exitCode: 0, output: "/web: 2 instances (before: 2)\n"), "\(same)")
            let none = try await daemon.control("--json", "scale", "/web", "0")
            let changes =
                #"{"effect":"stop","keys":[],"kind":"removed","path":"/web-1"},{"effect":"stop","keys":[],"kind":"removed","path":"/web-2"}"#
            #expect(none.output == #"{"changes":[\#(changes)],"former_instances":2,"instances":0,"path":"/web"}"# + "\n", "\(none)")
            #expect(try await daemon.allPIDs() == before.filter { !["/web-1", "/web-2"].contains($0.key) })
            #expect(try await daemon.control("scale", "/web", "1").exitCode == 0)
            try await daemon.allActive()
        }
    }

    @Test("Instances in a group are scaled too")
    func group() async throws {
        try await Self.run { daemon in
            let before = try await daemon.allPIDs()
            #expect(try await daemon.control("scale", "/group/inner", "3").exitCode == 0)
            try await daemon.allActive()
            let pids = try await daemon.allPIDs()
            #expect(Set(pids.keys).subtracting(before.keys) == ["/group/inner-2", "/group/inner-3"])
            #expect(pids["/group/inner-1"] == before["/group/inner-1"])
        }
    }

    @Test("A number that can't be, and a path without instances, change nothing")
    func refused() async throws {
        try await Self.run { daemon in
            let before = try await daemon.allPIDs()
            for (path, number, code, complaint) in [
                ("/web", "5", 64, "/web can't have that many instances: another child has the key web-5"),
                ("/other", "2", 64, "/other has no `instances` in the configuration: add the key there and apply it"),
                ("/web-1", "2", 4, "name it without the number of an instance, as /…/web"),
                ("/nothing", "2", 4, "the configuration has no /nothing whose instances could be counted"),
                ("/web", "1001", 64, "'1001' isn't a number from 0 to 1000"),
            ] {
                let ended = try await daemon.control("scale", path, number)
                #expect(ended.exitCode == code && ended.errors.contains(complaint), "\(ended)")
            }
            #expect(try await daemon.allPIDs() == before)
            #expect(try await daemon.control("config", "diff").output.hasPrefix("nothing to change"))
        }
    }
}
