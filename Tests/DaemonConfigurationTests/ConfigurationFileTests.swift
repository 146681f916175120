import DaemonConfiguration
import Glibc
import Testing

/// The file itself: missing, unreadable, too large, not text.
@Suite struct ConfigurationFileTests {
    /// Runs `body` with the path of a file of these bytes.
    private func withFile(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
        var template = Array("/tmp/configuration-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        try #require(descriptor >= 0)
        defer { unlink(path) }
        var written = 0
        while written < bytes.count {
            let count = write(descriptor, Array(bytes[written...]), bytes.count - written)
            try #require(count > 0)
            written += count
        }
        close(descriptor)
        try body(path)
    }

    private func problems(ofFile path: String) -> [String] {
        do throws(ConfigurationError) {
            _ = try DaemonConfiguration.load(path: path)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test("A good file is loaded")
    func aGoodFileIsLoaded() throws {
        try withFile(Array(DaemonConfigurationTests.complete.utf8)) { path in
            let loaded = try DaemonConfiguration.load(path: path)
            #expect(loaded == DaemonConfigurationTests.expected)
        }
    }

    @Test("Problems name the file as the caller gave it")
    func problemsNameTheFile() throws {
        try withFile(Array("children: 5\n".utf8)) { path in
            let message = "`children` is the number 5; expected a list, each item with `name` and `worker` or `program`"
            #expect(problems(ofFile: path) == ["\(path):1:11: \(message)"])
        }
    }

    @Test(
        "A file that can't be read is a problem with its reason",
        arguments: [
            (
                "/nonexistent/c.yaml",
                "/nonexistent/c.yaml: can't open the configuration file: No such file or directory; expected a readable YAML file"
            ),
            ("/", "/: can't read the configuration file: Is a directory; expected a readable YAML file"),
            ("", ": the name of the configuration file is empty or contains NUL; expected the path of a YAML file"),
        ]
    )
    func aFileThatCannotBeRead(path: String, problem: String) {
        #expect(problems(ofFile: path) == [problem])
    }

    @Test(
        "The first byte that isn't UTF-8 is reported with its position",
        arguments: [
            ([0xFF], 1, 1), (Array("a: b\nc: é".utf8) + [0xC3], 2, 5), (Array("a:\r\n".utf8) + [0xC0, 0x80], 2, 1),
            ([0xED, 0xA0, 0x80], 1, 1),
        ] as [([UInt8], Int, Int)]
    )
    func aFileThatIsNotUTF8(bytes: [UInt8], line: Int, column: Int) throws {
        try withFile(bytes) { path in
            #expect(problems(ofFile: path) == ["\(path):\(line):\(column): the file isn't UTF-8; expected it to be saved as UTF-8"])
        }
    }

    @Test("A file beyond the size limit is refused")
    func aHugeFileIsNotRead() throws {
        try withFile([UInt8](repeating: UInt8(ascii: "#"), count: (1 << 20) + 1)) { path in
            #expect(problems(ofFile: path) == ["\(path): the file is larger than 1048576 bytes; expected a daemon configuration"])
        }
    }
}
