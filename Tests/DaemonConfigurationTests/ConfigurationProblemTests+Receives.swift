import DaemonConfiguration
import Testing

extension ConfigurationProblemTests {
    private static let worker = "worker: { executable: e, coordinator: c }"

    /// Problems of the messages that children receive.
    static let rowsOfReceives: [Row] = [
        Row(
            "a beginning that isn't in a list",
            "children:\n  - name: a\n    \(worker)\n    receives: Catalog.\n",
            "f:4:15: `receives` is `Catalog.`; expected a list of beginnings of messages' names, such as [Catalog.]"
        ),
        Row(
            "a program that receives",
            "children:\n  - name: a\n    program: { command: [cat] }\n    receives: [A]\n",
            "f:4:15: `receives` is for workers: a program takes no messages; expected none"
        ),
        Row(
            "a group that receives, and a child in it",
            "children:\n  - name: a\n    children: [{ name: b, \(worker), receives: [A] }]\n    receives: [B]\n",
            "f:3:80: `receives` is for a child at the top of the file: the daemon's root hands messages on to its own children",
            "f:4:15: `receives` is for workers at the top of the file: a group takes no messages; expected none"
        ),
        Row(
            "instances that receive",
            "children:\n  - name: a\n    \(worker)\n    instances: 2\n    receives: [A]\n",
            "f:5:15: a child has both `receives` and `instances`, and nothing says which instance gets a message; expected one of them"
        ),
        Row(
            "beginnings that no name of a message has",
            "children:\n  - name: a\n    \(worker)\n    receives: [\"\", 5, \"A B\", \"A\\t\", A|B, coordinators.Navigate, [A]]\n",
            "f:4:16: an entry of `receives` is empty; expected the beginning of messages' names",
            "f:4:20: an entry of `receives` is the number 5; expected the beginning of messages' names (write \"5\" if it is meant as text)",
            "f:4:23: an entry of `receives` is `A B`; expected no spaces, control characters and `|`, which no name of a message has",
            "f:4:30: an entry of `receives` is `A\\t`; expected no spaces, control characters and `|`, which no name of a message has",
            "f:4:37: an entry of `receives` is `A|B`; expected no spaces, control characters and `|`, which no name of a message has",
            "f:4:42: an entry of `receives` is `coordinators.Navigate`; expected another beginning than `coordinators.`, which is the runtime's own",
            "f:4:65: an entry of `receives` is a list; expected the beginning of messages' names"
        ),
        Row(
            "a beginning that is too long",
            "children:\n  - name: a\n    \(worker)\n    receives: [\(String(repeating: "a", count: 255)), \(String(repeating: "b", count: 256))]\n",
            "f:4:273: an entry of `receives` has 256 bytes; expected at most 255"
        ),
        Row(
            "a beginning that two children have",
            "children:\n  - name: a\n    \(worker)\n    receives: [A, B]\n  - name: b\n    \(worker)\n    receives: [B, C, C]\n",
            "f:7:16: `receives` has `B`, as it does at line 4; expected each beginning once in the file",
            "f:7:22: `receives` has `C`, as it does at line 7; expected each beginning once in the file"
        ),
    ]

    @Test("What children receive, in the order in which it's tried")
    func receives() throws {
        let text = """
            children:
              - { name: a, \(Self.worker), receives: [Search., B, Search.Query] }
              - { name: b, \(Self.worker), receives: [] }
              - { name: c, \(Self.worker), receives: [A, Größe.] }
            """
        let configuration = try DaemonConfiguration.parse(text: text, file: "f")
        #expect(configuration.children.map(\.receives) == [["Search.", "B", "Search.Query"], [], ["A", "Größe."]])
        #expect(configuration.receives.map { "\($0.prefix) \($0.child)" } == ["Search.Query a", "Größe. c", "Search. a", "A c", "B a"])
    }
}
