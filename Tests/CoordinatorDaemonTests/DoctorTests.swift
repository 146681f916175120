import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("`doctor` on a real daemon", .timeLimit(minutes: 2))
struct DoctorTests {
    private static let tree = """
        children:
          - { name: well, program: { command: [sleep, "1000"] } }
          - { name: ill, program: { command: [sh, -c, "exit 1"] }, restart_limits: { max_restarts: 0 } }
        """

    /// What `doctor` says about one thing.
    private struct Finding: Equatable {
        var status: String
        var message: String
        var advice: String?
    }

    /// Runs `doctor` in both forms.
    ///
    /// - Returns: The exit code, the text for people, and the findings by what they are about.
    private static func examine(_ daemon: RunningDaemon) async throws -> (exitCode: Int32, text: String, findings: [String: Finding]) {
        let (human, machine) = (try await daemon.control("doctor"), try await daemon.control("--json", "doctor"))
        #expect(human.exitCode == machine.exitCode)
        let report = try ControlJSON.parse(Array(machine.output.utf8))
        let findings = (report["findings"]?.arrayValue ?? []).map { finding in
            let texts = ["check", "status", "message"].map { finding[$0]?.stringValue ?? "" }
            return (texts[0], Finding(status: texts[1], message: texts[2], advice: finding["advice"]?.stringValue))
        }
        // Each finding that isn't ok says what to do, in both forms.
        for (check, finding) in findings where finding.status != "ok" {
            #expect(finding.advice != nil && human.output.contains("→ \(finding.advice ?? "")\n"), "\(check): \(human.output)")
        }
        return (human.exitCode, human.output, Dictionary(findings) { first, _ in first })
    }

    @Test("Tells of a failed child, a dead socket, few descriptors and a directory that others may write to, and what to do about each")
    func troubles() async throws {
        try await RunningDaemon.with(Self.tree, descriptorLimit: 200) { daemon in
            try await daemon.eventually("the child is given up") { try await daemon.node("/ill").state == "failed" }
            let run = "\(daemon.directory)/run"
            // A socket's file at which nothing listens.
            try #require(HostileInputTests.bindError("\(run)/dead.sock") == 0)
            let (exitCode, text, findings) = try await Self.examine(daemon)
            // Warnings alone are no failure.
            #expect(exitCode == 0, "\(text)")
            #expect(findings["daemon"]?.status == "ok" && findings["runtime directory"]?.status == "ok", "\(text)")
            let children = Finding(
                status: "warning",
                message: "1 of 2 in trouble: /ill failed",
                advice: "look at it: coordinatorctl status /ill; start it again: coordinatorctl restart /ill"
            )
            #expect(findings["children"] == children)
            let stale = Finding(
                status: "warning",
                message: "no process listens at dead.sock",
                advice: "nothing: the next daemon in the directory removes them"
            )
            #expect(findings["stale files"] == stale)
            let descriptors = try #require(findings["descriptors"])
            #expect(descriptors.status == "warning" && descriptors.message.hasPrefix("the daemon may open 200, and has "), "\(text)")
            #expect(descriptors.advice == "raise the limit: LimitNOFILE= in the unit file, or ulimit -n before the daemon")

            #expect(chmod(run, 0o777) == 0)
            let (code, words, open) = try await Self.examine(daemon)
            #expect(code == 1, "\(words)")
            let directory = try #require(open["runtime directory"])
            #expect(directory.status == "problem" && directory.message.hasPrefix("other users may write to \(run), mode 0777"), "\(words)")
            #expect(directory.advice == "chmod go-w \(run)")
            #expect(open["children"] == children, "the daemon is asked all the same")
            #expect(chmod(run, 0o700) == 0)
        }
    }
}
