import Control
import TestSupport
import Testing

@Suite("Children with placement, and a daemon without a cluster", .timeLimit(minutes: 2))
struct PlacementWithoutClusterTests {
    private static let tree = "children:\n  - { name: here, program: { command: [sleep, '1000'] } }\n"
    private static let placed = tree + "  - name: there\n    program: { command: [sleep, '1001'] }\n    placement: cluster\n"

    /// Expects that a file is refused, with the place of `placement`, and changes nothing.
    private static func isRefused(_ file: String, by daemon: RunningDaemon) async throws {
        let before = try await daemon.processes()
        for command in [["config", "diff"], ["config", "apply"], ["config", "apply", file]] {
            let ended = try await daemon.control(command)
            #expect(ended.exitCode == 78 && ended.output == "", "\(ended)")
            #expect(ended.errors.contains("\(file):5:5: `there` has `placement`, and without a cluster"), "\(ended.errors)")
        }
        #expect(try await daemon.processes() == before)
    }

    @Test("A file with which the daemon wouldn't start again is refused; one that has `cluster` too isn't")
    func withoutCluster() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            _ = try await daemon.children(1)
            let file = "\(daemon.directory)/tree.yaml"
            try daemon.rewrite(Self.placed)
            try await Self.isRefused(file, by: daemon)
            try daemon.rewrite(Self.placed + "cluster: { name: lone, node: a, directory: '\(daemon.directory)/epochs' }\n")
            let shown = try await daemon.control("config", "diff")
            #expect(shown.exitCode == 0 && shown.output.contains("+ /there"), "\(shown)")
        }
    }

    @Test("A node may lose its cluster only with the children that have placement, unless the cluster is that of --cluster")
    func loss() async throws {
        let directory = try TemporaryDirectory()
        let keys = "name: lone, node: a, directory: '\(directory.file("epochs"))'"
        try await RunningDaemon.with(Self.placed + "cluster: { \(keys) }\n") { daemon in
            try await daemon.eventually("the node has its child") { try await daemon.node("/there").state == "active" }
            let file = "\(daemon.directory)/tree.yaml"
            try daemon.rewrite(Self.placed)
            try await Self.isRefused(file, by: daemon)
            try daemon.rewrite(Self.tree)
            #expect(try await daemon.control("config", "diff").exitCode == 0)
        }
        try Files.write("{ \(keys) }\n", to: directory.file("cluster.yaml"))
        try await RunningDaemon.with(Self.tree, options: "--cluster '\(directory.file("cluster.yaml"))'") { daemon in
            try daemon.rewrite(Self.placed)
            let shown = try await daemon.control("config", "diff")
            #expect(shown.exitCode == 0 && shown.output.contains("+ /there"), "\(shown)")
        }
    }

    @Test("A check, which knows no --cluster, remarks it and finds nothing wrong", arguments: [true, false])
    func check(isRemarked: Bool) async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("tree.yaml")
        try Files.write(Self.placed + (isRemarked ? "" : "cluster: { name: lone, node: a, directory: /epochs }\n"), to: file)
        let checked = try await RunningDaemon.coordinatord.run(["--check-config", file])
        #expect(checked.exitCode == 0 && checked.output.hasPrefix("\(file): ok; 2 children"), "\(checked)")
        #expect(checked.errors.hasPrefix("\(file): the child there has `placement`") == isRemarked, "\(checked)")
        #expect(checked.errors.isEmpty == !isRemarked, "\(checked)")
    }
}
