import DaemonConfiguration
import Supervision
import TestSupport
import Testing

@Suite("The table of keys in the article about deployment")
struct DeploymentTests {
    /// The paths of the keys, and the defaults that the article states.
    private let defaults: [String: String]

    init() throws {
        let text = try #require(Files.text(of: "\(Files.packageRoot)/Sources/Coordinators/Coordinators.docc/Deployment.md"))
        let table = try #require(text.split(separator: "| Key | Default |\n|---|---|\n").last)
        let rows = table.split(separator: "\n\n")[0].split(separator: "\n")
        let cells = rows.map { row in row.split(separator: "|").map { $0.filter { $0 != "`" }.dropFirst().dropLast() } }
        defaults = Dictionary(cells.map { (String($0[0]), String($0[1])) }) { first, _ in first }
        #expect(defaults.count == rows.count)
    }

    @Test("Every key that the reader knows is in it, at its place")
    func keys() throws {
        let known = try ReaderSource.keyLists().reduce(into: Set<String>()) { $0.formUnion($1) }
        #expect(Set(defaults.keys.compactMap { $0.split(separator: ".").last.map(String.init) }) == known)
        for path in defaults.keys {
            // The value is one that no key accepts: the problem must be the value, not the key.
            let error = #expect(throws: ConfigurationError.self) {
                try DaemonConfiguration.parse(text: Self.file(with: path), file: "keys")
            }
            #expect(error?.description.contains("unknown key") == false, "\(path): \(error?.description ?? "")")
        }
    }

    @Test("Its defaults are those of a file that leaves them out")
    func values() throws {
        let configuration = try DaemonConfiguration.parse(
            text: "children: [{ key: a, program: { command: [sh] } }, { key: b, worker: { executable: /bin/sh, coordinator: B } }]",
            file: "defaults"
        )
        let (policy, backoff) = (configuration.supervision, configuration.supervision.backoff)
        #expect(defaults["supervision.strategy"] == "\(policy.strategy)")
        #expect(defaults["supervision.intensity"] == "\(policy.intensity)")
        #expect(defaults["supervision.period"] == Self.text(policy.period))
        #expect(defaults["supervision.backoff.minimum"] == Self.text(backoff.minimum))
        #expect(defaults["supervision.backoff.maximum"] == Self.text(backoff.maximum))
        #expect(defaults["supervision.backoff.reset_after"] == Self.text(backoff.resetAfter))
        #expect(defaults["orphan_grace"] == Self.text(configuration.orphanGrace))
        #expect(configuration.children.allSatisfy { "\($0.restart)" == defaults["children.restart"] })
        #expect(configuration.children.map(\.shutdown) == [.timeout(.seconds(5)), .infinity])
        #expect(defaults["children.shutdown"] == "infinity for a worker, 5s for a program")
    }

    @Test("The files that the library's articles show are good files")
    func examples() throws {
        let folder = "\(Files.packageRoot)/Sources/Coordinators/Coordinators.docc"
        let articles = Files.names(in: folder).compactMap { Files.text(of: "\(folder)/\($0)") }
        let examples = articles.flatMap { $0.split(separator: "```yaml\n").dropFirst().compactMap { $0.split(separator: "```").first } }
        #expect(examples.count >= 1)
        for example in examples { _ = try DaemonConfiguration.parse(text: String(example), file: "example") }
    }

    /// A duration as it's written in the file.
    private static func text(_ duration: Duration) -> String {
        let (seconds, fraction) = duration.components
        return fraction == 0 ? "\(seconds)s" : "\(duration / .milliseconds(1))".split(separator: ".")[0] + "ms"
    }

    /// Returns a file that has the key at its path.
    private static func file(with path: String) -> String {
        let names = path.split(separator: ".")
        let isBelowChild = names.count > 1 && names[0] == "children"
        let lines = names.enumerated().map { depth, name in
            String(repeating: "  ", count: depth) + (isBelowChild && depth > 0 ? (depth == 1 ? "- " : "  ") : "") + name + ":"
        }
        return lines.joined(separator: "\n") + " [[]]"
    }
}
