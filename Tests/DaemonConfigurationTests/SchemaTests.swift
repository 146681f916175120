import Glibc
import Processes
import TestSupport
import Testing

@Suite("The JSON schema of the configuration file", .timeLimit(minutes: 2))
struct SchemaTests {
    /// A program that validates files of YAML, or after `json` the lines of a file; prints `valid` or `invalid` for each.
    private static let validator = """
        import json, sys, jsonschema_rs, yaml
        class Loader(yaml.SafeLoader): pass
        # YAML 1.2 has no other truth values than true and false.
        Loader.yaml_implicit_resolvers = {
            key: [(tag, pattern) for tag, pattern in resolvers if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")]
            for key, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
        Loader.add_implicit_resolver("tag:yaml.org,2002:bool", __import__("re").compile("^(true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
        with open(sys.argv[1]) as file: schema = json.load(file)
        jsonschema_rs.meta.validate(schema)
        validator = jsonschema_rs.Draft202012Validator(schema)
        if sys.argv[2] == "json":
            for line in open(sys.argv[3]): print("valid" if validator.is_valid(json.loads(line)) else "invalid")
            sys.exit()
        for path in sys.argv[2:]:
            with open(path) as file: document = yaml.load(file, Loader)
            error = next(validator.iter_errors(document), None)
            print("valid" if error is None else f"invalid: {error.instance_path} {error.message}".replace("\\n", " "))
        """

    private static let interpreter = getenv("COORDINATORS_TEST_PYTHON").map { String(cString: $0) } ?? "python3"

    private static func run(_ arguments: [String]) async throws -> (status: Processes.ExitStatus, output: String) {
        let output = Transcript()
        let specification = ProcessSpecification(
            executable: "/usr/bin/env",
            arguments: [interpreter] + arguments,
            standardOutput: output.destination,
            standardError: output.destination
        )
        return try await withChild(specification) { child in
            let status = await child.waitForExit()
            return (status, output.text)
        }
    }

    /// Whether the interpreter has the packages that validate; `Deploy/test` installs them.
    static func canValidate() async -> Bool {
        (try? await run(["-c", "import jsonschema_rs, yaml"]).status) == .exited(code: 0)
    }

    /// Returns the verdict on each text.
    private static func verdicts(_ texts: [String]) async throws -> [String] {
        let temporary = try TemporaryDirectory()
        let files = try texts.enumerated().map { number, text in
            let file = temporary.file("\(number).yaml")
            try Files.write(text, to: file)
            return file
        }
        let ended = try await run(["-c", validator, SchemaDocuments.schemaFile] + files)
        try #require(ended.status == .exited(code: 0), "\(ended.output)")
        return ended.output.split(separator: "\n").map(String.init)
    }

    /// Returns whether each value is valid.
    static func verdicts(ofJSON values: [String]) async throws -> [Bool] {
        let temporary = try TemporaryDirectory()
        let file = temporary.file("values")
        try Files.write(values.map { $0 + "\n" }.joined(), to: file)
        let ended = try await run(["-c", validator, SchemaDocuments.schemaFile, "json", file])
        try #require(ended.status == .exited(code: 0), "\(ended.output)")
        return ended.output.split(separator: "\n").map { $0 == "valid" }
    }

    @Test("An independent reader finds every example of the repository valid")
    func examples() async throws {
        guard await Self.canValidate() else { return print("\(Self.interpreter) has no jsonschema_rs and yaml; nothing was validated") }
        var texts: [String] = []
        for article in ["Sources/DaemonConfiguration/DaemonConfiguration.docc", "Sources/Coordinators/Coordinators.docc", "."] {
            let folder = "\(Files.packageRoot)/\(article)"
            for name in Files.names(in: folder) where name.hasSuffix(".md") {
                let text = Files.text(of: "\(folder)/\(name)") ?? ""
                texts += text.split(separator: "```yaml\n").dropFirst().compactMap { $0.split(separator: "```").first.map(String.init) }
            }
        }
        texts = texts.filter { $0.contains("children:") } + [DaemonConfigurationTests.complete]
        texts.append(try #require(Files.text(of: "\(Files.packageRoot)/Deploy/shop.yaml")))
        #expect(texts.count >= 6)
        let verdicts = try await Self.verdicts(texts)
        for (text, verdict) in zip(texts, verdicts) { #expect(verdict == "valid", "\(text)") }
        #expect(verdicts.count == texts.count)
    }

    @Test("An independent reader refuses what the reader refuses for its form")
    func refused() async throws {
        guard await Self.canValidate() else { return }
        let child = { (rest: String) in "children: [{ name: a, program: { command: [cat] }, \(rest) }]" }
        let texts = [
            "childern: []", "children: {}", "children: [{ name: a }]", "children: [{ program: { command: [cat] } }]",
            "children: [{ name: a/b, program: { command: [cat] } }]", "children: [{ name: 5, program: { command: [cat] } }]",
            "children: [{ name: a, program: { command: [] } }]", "children: [{ name: a, program: { command: ['~/x'] } }]",
            child("worker: { executable: x, coordinator: X }"), child("restart: sometimes"), child("stop_timeout: 5"),
            child("stop_timeout: soon"),
            child("after: b"), child("requires: [5]"), child("autostart: no"), child("instances: -1"), child("supervision: {}"),
            child("restart_limits: { max_restarts: many }"), child("children: []"), "children: []\norphan_grace: 5",
            "children: []\nsupervision: { strategy: one_for_some }", "children: []\nsupervision: { backoff: { factors: 2 } }",
            "children: [{ name: a, worker: { executable: x, coordinator: X, hang: ignore } }]",
            "children: [{ name: a, worker: { executable: x } }]",
            "children: [{ name: a, worker: { executable: x, coordinator: X }, receives: [A B] }]",
            "children: [{ name: a, worker: { executable: x, coordinator: X }, receives: [coordinators.A] }]",
        ]
        for text in texts { #expect(ConfigurationProblemTests.problems(of: text) != [], "\(text)") }
        let verdicts = try await Self.verdicts(texts)
        for (text, verdict) in zip(texts, verdicts) { #expect(verdict.hasPrefix("invalid"), "\(text)") }
        #expect(verdicts.count == texts.count)
    }
}
