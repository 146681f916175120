import DaemonConfiguration
import Testing

@Suite("Instances of a child")
struct InstanceTests {
    @Test(
        "Each instance has a log file of its own",
        arguments: [
            ("/web-1", "/logs/web-1.log"), ("/web-12", "/logs/web-12.log"), ("/bare-2", "/logs.d/bare-2"), ("/one", "/logs/one.log"),
            ("/group-2/inner-3", "/logs/.inner-2-3"), ("/group-1/single", "/logs/single-1.log"),
        ]
    )
    func logs(_ path: String, _ file: String) throws {
        let configuration = try DaemonConfiguration.parse(
            text: """
                children:
                  - { name: web, program: { command: [sleep, "1"] }, instances: 20, logging: { file: /logs/web.log } }
                  - { name: bare, program: { command: [sleep, "1"] }, instances: 2, logging: { file: /logs.d/bare } }
                  - { name: one, program: { command: [sleep, "1"] }, logging: { file: /logs/one.log } }
                  - name: group
                    instances: 2
                    children:
                      - { name: inner, program: { command: [sleep, "1"] }, instances: 3, logging: { file: /logs/.inner } }
                      - { name: single, program: { command: [sleep, "1"] }, logging: { file: /logs/single.log } }
                """,
            file: "f"
        )
        #expect(configuration.logging(of: path).destination == .file(file))
    }

    @Test("The siblings of a child are found by its path without a number, but not below a group with instances")
    func siblings() throws {
        var configuration = try DaemonConfiguration.parse(
            text: """
                children:
                  - name: a
                    children: [{ name: b, program: { command: [sleep, "1"] }, instances: 2 }]
                  - name: c
                    instances: 2
                    children: [{ name: d, program: { command: [sleep, "1"] }, instances: 2 }]
                """,
            file: "f"
        )
        for (path, isThere) in [
            ("/a/b", true), ("/a", true), ("/c", true), ("/c/d", false), ("/c-1/d", false), ("/a/b-1", false), ("/x", false),
        ] {
            #expect(configuration.withSiblings(at: path) { _, _ in } == isThere, "\(path)")
        }
        _ = configuration.withSiblings(at: "/a/b") { $0[$1].instances = 3 }
        guard case .group(let group)? = configuration.children.first?.content else { return #expect(Bool(false), "there is a group") }
        #expect(group.children[0].instances == 3)
    }
}
