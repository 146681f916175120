import ConcurrencySupport
import DaemonConfiguration
import Processes
import Supervision
import Testing
import WireProtocol

/// The configurations that good files describe.
@Suite struct DaemonConfigurationTests {
    static let complete = """
        children:
          - name: shop
            worker:
              executable: .build/release/Shop
              coordinator: ShopCoordinator
              configuration: { currency: EUR, limits: [1, 2.5, true, null], "no": no }
              environment: { A: b, PORT: 8080, EMPTY: "" }
              directory: /srv/shop
            restart: on_failure
            stop_timeout: { draining: 30s }
          - name: mailer
            program: { command: [python3, mailer.py, 10], environment: { A: b }, directory: /srv }
            restart: never
            stop_timeout: brutal_kill
            restart_limits: { max_restarts: unlimited, backoff: { maximum: 5m } }
          - name: plain
            program: { command: [/bin/cat] }
            stop_timeout: infinity
            restart_limits: { max_restarts: 0, period: 1h }
        supervision:
          strategy: rest_for_one
          max_restarts: 3
          period: 2m
          backoff: { minimum: 1ms, maximum: 1h, reset_after: 5s }
        orphan_grace: 0s
        operators: { group: adm }
        """

    static var expected: DaemonConfiguration {
        var configuration = withoutOperators
        configuration.operators.groups = [.init("adm", role: .operate)]
        return configuration
    }

    private static var supervision: SupervisionPolicy {
        var policy = SupervisionPolicy(
            .restForOne,
            intensity: 3,
            period: .seconds(120),
            backoff: .init(minimum: .milliseconds(1), maximum: .seconds(3600), resetAfter: .seconds(5))
        )
        policy.limitsFailures = true
        return policy
    }

    private static let withoutOperators = DaemonConfiguration(
        children: [
            ConfiguredChild(
                key: "shop",
                content: .worker(
                    ConfiguredWorker(
                        executable: ".build/release/Shop",
                        coordinator: "ShopCoordinator",
                        configuration: ["currency": "EUR", "limits": [1, 2.5, true, nil], "no": "no"],
                        environment: ["A": "b", "PORT": "8080", "EMPTY": ""],
                        directory: "/srv/shop"
                    )
                ),
                restart: .transient,
                shutdown: .draining(.seconds(30))
            ),
            ConfiguredChild(
                key: "mailer",
                content: .program(
                    ConfiguredProgram(command: ["python3", "mailer.py", "10"], environment: ["A": "b"], directory: "/srv")
                ),
                restart: .temporary,
                shutdown: .brutalKill,
                restartLimits: RestartLimits(
                    intensity: .unlimited,
                    backoff: .init(minimum: .milliseconds(1), maximum: .seconds(300), resetAfter: .seconds(5))
                )
            ),
            ConfiguredChild(
                key: "plain",
                content: .program(ConfiguredProgram(command: ["/bin/cat"])),
                shutdown: .infinity,
                restartLimits: RestartLimits(intensity: 0, period: .seconds(3600))
            ),
        ],
        supervision: supervision,
        orphanGrace: .zero
    )

    @Test("Operators are one group or a list of groups, which operate unless the file gives them another role")
    func operators() throws {
        let readings: [(String, [OperatorConfiguration.Group])] = [
            ("{}", []), ("[]", []), ("{ group: 7, role: observe }", [.init("7", role: .observe)]),
            ("[{ group: a, role: administer }, { group: b }]", [.init("a", role: .administer), .init("b", role: .operate)]),
        ]
        for (text, groups) in readings {
            #expect(try DaemonConfiguration.parse(text: "children: []\noperators: \(text)", file: "f").operators.groups == groups)
        }
    }

    @Test("Every key is read")
    func everyKeyIsRead() throws {
        #expect(try DaemonConfiguration.parse(text: Self.complete, file: "f") == Self.expected)
    }

    @Test("Omitted keys have the documented defaults")
    func defaultsAreTheDesigns() throws {
        let text = """
            children:
              - { name: shop, worker: { executable: Shop, coordinator: Root, configuration: } }
              - { name: cat, program: { command: [cat] } }
            """
        let configuration = try DaemonConfiguration.parse(text: text, file: "f")
        #expect(configuration.children.map(\.restart) == [.permanent, .permanent])
        #expect(configuration.children.map(\.shutdown) == [.infinity, .timeout(.seconds(5))])
        #expect(configuration.children[0].content == .worker(ConfiguredWorker(executable: "Shop", coordinator: "Root")))
        #expect(configuration.supervision.strategy == .oneForOne)
        #expect(configuration.supervision.intensity == 5)
        #expect(configuration.supervision.period == .seconds(60))
        #expect(configuration.supervision.backoff.minimum == .milliseconds(100))
        #expect(configuration.supervision.backoff.maximum == .seconds(30))
        #expect(configuration.supervision.backoff.resetAfter == .seconds(30))
        #expect(configuration.orphanGrace == .seconds(10))
    }

    @Test("A JSON file is read like its YAML form")
    func jsonIsYAMLToo() throws {
        let text = #"{"children": [{"name": "cat", "program": {"command": ["cat", "-u"]}}], "orphan_grace": "1s"}"#
        let configuration = try DaemonConfiguration.parse(text: text, file: "f")
        #expect(configuration.children == [ConfiguredChild(key: "cat", content: .program(.init(command: ["cat", "-u"])))])
        #expect(configuration.orphanGrace == .seconds(1))
    }

    @Test(
        "A file without children is a configuration",
        arguments: ["children: []", "\u{FEFF}children: []\n", "---\nchildren: []\n...\n", "children: []\r\n", "# c\nchildren:\n  []"]
    )
    func noChildrenIsAConfiguration(text: String) throws {
        #expect(try DaemonConfiguration.parse(text: text, file: "f") == DaemonConfiguration(children: []))
    }

    @Test("An alias stands for its anchor's value")
    func anAliasStandsForItsAnchor() throws {
        let text = """
            children:
              - { name: a, program: { command: [cat], environment: &shared { LANG: C } } }
              - { name: b, program: { command: [cat], environment: *shared } }
            """
        let configuration = try DaemonConfiguration.parse(text: text, file: "f")
        #expect(configuration.children.last?.content == .program(.init(command: ["cat"], environment: ["LANG": "C"])))
    }

    /// YAML 1.2's core schema; what YAML 1.1 made of the texts is in the comment.
    @Test(
        "Scalars are resolved by the core schema of YAML 1.2",
        arguments: [
            ("1", 1), ("-17", -17), ("+3", 3), ("007", 7), ("0o17", 15), ("0x1F", 31), ("9223372036854775807", .integer(.max)),
            ("9223372036854775808", 9_223_372_036_854_775_808.0), ("1.5", 1.5), ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0),
            ("-1.5E-1", -0.15),
            ("true", true), ("False", false), ("~", nil), ("null", nil), ("", nil),
            ("yes", "yes"), ("off", "off"),  // truth values
            ("1_000", "1_000"), ("12:30", "12:30"),  // numbers
            ("2026-01-01", "2026-01-01"),  // a date
            ("0x", "0x"), ("0x-1", "0x-1"), ("1e", "1e"), (".", "."), ("infinity", "infinity"), ("0x1p3", "0x1p3"), ("+", "+"),
            ("'5'", "5"), ("\"true\"", "true"), ("!!str 5", "5"), ("\"\\u00e9\"", "é"),
        ] as [(String, JSONValue)]
    )
    func aConfigurationsScalars(written: String, meant: JSONValue) throws {
        let text = "children: [{ name: a, worker: { executable: e, coordinator: c, configuration: { value: \(written) } } }]"
        let configuration = try DaemonConfiguration.parse(text: text, file: "f")
        #expect(configuration.children.first?.content == .worker(.init(executable: "e", coordinator: "c", configuration: ["value": meant])))
    }

    @Test(
        "Durations are read as they are written",
        arguments: [
            ("250ms", .milliseconds(250)), ("5s", .seconds(5)), ("2m", .seconds(120)), ("1h", .seconds(3600)), ("0s", .zero),
            ("1500ms", .milliseconds(1500)), ("999999999999h", .seconds(999_999_999_999 * 3600)),
        ] as [(String, Duration)]
    )
    func durationsReadAsTheyAreWritten(text: String, duration: Duration) {
        #expect(Duration(configurationText: text) == duration)
        #expect(duration.configurationText == text)
    }

    @Test(
        "A text without a whole number and a unit is not a duration",
        arguments: ["", "5", "s", "-5s", "+5s", "1.5s", "5 s", "5S", "5sec", "1m30s", "9999999999999s", "5d", "\u{0665}s", "5s\u{0}"]
    )
    func otherTextsAreNoDurations(text: String) {
        #expect(Duration(configurationText: text) == nil)
    }
}
