import DaemonConfiguration
import Testing

extension ConfigurationProblemTests {
    /// Problems of the logging of the file and of children.
    static let rowsOfLogging: [Row] = [
        Row(
            "bad values of logging, all at once",
            "children: []\nlogging:\n  directory: ~/logs\n  format: yaml\n  maximum_size: 10\n  keep: -1\n  standard_error: apart\n  to_daemon: 1\n  mode: 0999\n  owner: 'a:'\n",
            "f:3:14: `directory` is `~/logs`, and no shell replaces `~` here; expected the path written out",
            "f:4:11: `format` is `yaml`; expected one of `lines`, `json`, `raw`",
            "f:5:17: `maximum_size` is the number 10, which isn't a size; expected a whole number and a unit, such as 512KiB, 10MiB or 1GiB, or 0 for a file that isn't rotated",
            "f:6:9: `keep` is the number -1; expected a whole number from 0 to 99",
            "f:7:19: `standard_error` is `apart`; expected one of `together`, `separate`",
            "f:8:14: `to_daemon` is the number 1; expected true, false or raw",
            "f:9:9: `mode` is the number 0999; expected octal permissions, such as 0640",
            "f:10:10: `owner` is `a:`; expected a user, `user:group` or `:group`"
        ),
        Row(
            "an unknown key of logging",
            "children: []\nlogging: { kep: 2 }\n",
            "f:2:12: unknown key `kep` in `logging`; did you mean `keep`?"
        ),
        Row(
            "one file for all children",
            "children: []\nlogging: { file: /var/log/all.log }\n",
            "f:2:18: `file` is for one child, and this `logging` is for all; expected `directory`, or `file: none`"
        ),
        Row(
            "a file and a directory",
            "children:\n  - name: a\n    program: { command: [cat] }\n    logging: { file: a.log, directory: logs }\n",
            "f:4:22: `logging` has both `directory` and `file`; expected one of them"
        ),
        Row(
            "a file that is too small",
            "children: []\nlogging: { maximum_size: 1KiB }\n",
            "f:2:26: `maximum_size` is 1024 bytes; expected at least 16KiB, or 0"
        ),
        Row(
            "a worker's standard error by itself",
            "children:\n  - name: a\n    worker: { executable: /bin/a, coordinator: A }\n    logging: { standard_error: separate }\n",
            "f:4:32: `standard_error` is `separate`, but a worker has one stream, which survives the daemon; expected together"
        ),
    ]

    @Test("Logging: a child's omitted keys are those of the file")
    func logging() throws {
        let text = """
            children:
              - name: a
                program: { command: [cat] }
                logging: { file: /tmp/a.log, maximum_size: 1MB }
              - name: b
                program: { command: [cat] }
              - name: c
                program: { command: [cat] }
                logging: { file: none, standard_error: separate, format: raw, to_daemon: raw, mode: 0640, owner: www-data:adm }
            logging: { directory: /var/log/x, format: json, maximum_size: 512KiB, keep: 2, to_daemon: false }
            """
        let configuration = try DaemonConfiguration.parse(text: text, file: "f")
        let a = configuration.logging(of: "/a")
        #expect(a.destination == .file("/tmp/a.log") && a.maximumSize == 1_000_000 && a.format == .json && a.keep == 2)
        let b = configuration.logging(of: "/b/below")
        #expect(b.destination == .directory("/var/log/x") && b.maximumSize == 512 << 10 && b.daemonCopy == .none)
        #expect(b.standardError == .together)
        let c = configuration.logging(of: "/c")
        #expect(c.destination == LoggingConfiguration.Destination.none && c.standardError == .separate)
        #expect(c.format == .raw && c.daemonCopy == .raw && c.mode == 0o640 && c.owner == "www-data:adm")
        #expect(a.mode == nil && a.owner == nil && LoggingConfiguration().daemonCopy == .labelled)
    }
}
