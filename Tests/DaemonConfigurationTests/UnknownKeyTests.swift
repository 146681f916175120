import TestSupport
import Testing

@testable import DaemonConfiguration

@Suite("Keys and words that the file doesn't have")
struct UnknownKeyTests {
    @Test(
        "What was called otherwise, what other programs have, and what is at the wrong level leads to what is meant",
        arguments: [
            ("key: b", "`key` is now called `name`"), ("shutdown: 5s", "`shutdown` is now called `stop_timeout`"),
            ("restart: permanent", "`restart` is `permanent`, which is now called `always`"),
            ("restart: transient", "`restart` is `transient`, which is now called `on_failure`"),
            ("restart: temporary", "`restart` is `temporary`, which is now called `never`"),
            ("stop_timeout: brutalKill", "`stop_timeout` is `brutalKill`, which is now called `brutal_kill`"),
            ("restart: unless-stopped", "`restart` is `unless-stopped`; did you mean `always`?"),
            ("restart: on-failure", "`restart` is `on-failure`; did you mean `on_failure`?"),
            ("restart: no", "`restart` is `no`; did you mean `never`?"),
            ("restart: false", "`restart` is the truth value false; did you mean `never`?"),
            ("depends_on: [b]", "unknown key `depends_on` in a child; did you mean `after`?"),
            ("autorestart: true", "unknown key `autorestart` in a child; did you mean `restart`?"),
            ("replicas: 3", "unknown key `replicas` in a child; did you mean `instances`?"),
            ("auto_start: true", "unknown key `auto_start` in a child; did you mean `autostart`?"),
            ("stopTimeout: 3s", "unknown key `stopTimeout` in a child; did you mean `stop_timeout`?"),
            ("stop_timeot: 3s", "unknown key `stop_timeot` in a child; did you mean `stop_timeout`?"),
            ("health: { tcp: 1 }", "unknown key `health` in a child; it belongs one level down, in `program`"),
            ("healthcheck: { tcp: 1 }", "unknown key `healthcheck` in a child; `health` belongs one level down, in `program`"),
            ("restart_limits: { intensity: 3 }", "`intensity` is now called `max_restarts`"),
            ("orphan_grace: 1s", "unknown key `orphan_grace` in a child; it belongs one level up, in the file"),
            (
                "orphan_grac: 1s",
                "unknown key `orphan_grac` in a child; expected one of `name`, `worker`, `program`, `restart`, `stop_timeout`"
            ),
        ]
    )
    func child(line: String, message: String) {
        let problems = Self.problems("children:\n  - name: a\n    program: { command: [cat] }\n    \(line)\n")
        #expect(problems.first?.message.hasPrefix(message) == true, "\(problems)")
    }

    @Test(
        "Also in the mappings of a child",
        arguments: [
            ("restart: always", "unknown key `restart` in `program`; it belongs one level up, beside `program`"),
            ("depends_on: [b]", "unknown key `depends_on` in `program`; `after` belongs one level up, beside `program`"),
            ("health: { tcp: 1, restart: always }", "unknown key `restart` in `health`; it belongs 2 levels up, beside `program`"),
            ("limits: { open_files: 1 }", "`open_files` is now called `nofile`"),
            ("limits: { processes: 1 }", "`processes` is now called `nproc`"),
            ("limits: { cpu_time: 1s }", "`cpu_time` is now called `cpu`"),
            ("limits: { fds: 1 }", "unknown key `fds` in `limits`; did you mean `nofile`?"),
            ("cwd: /", "unknown key `cwd` in `program`; did you mean `directory`?"),
            ("retries: 3", "unknown key `retries` in `program`; it belongs one level down, in `health`"),
        ]
    )
    func program(line: String, message: String) {
        let problems = Self.problems("children:\n  - name: a\n    program:\n      command: [cat]\n      \(line)\n")
        #expect(problems.map(\.message) == [message])
    }

    @Test("Strategies in camel case, and what belongs to a child, at the top of the file")
    func file() {
        #expect(
            Self.problems("children: []\nsupervision: { strategy: oneForAll }\n").map(\.message)
                == ["`strategy` is `oneForAll`, which is now called `one_for_all`"]
        )
        #expect(
            Self.problems("children: []\nrestart: always\n").map(\.message)
                == ["unknown key `restart` in the file; it belongs one level down, in `children`"]
        )
    }

    private static func problems(_ text: String) -> [ConfigurationError.Problem] {
        do throws(ConfigurationError) {
            _ = try DaemonConfiguration.parse(text: text, file: "f")
            return []
        } catch {
            return error.problems
        }
    }
}
