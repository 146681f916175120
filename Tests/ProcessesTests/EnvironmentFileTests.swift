import Glibc
import TestSupport
import Testing

@testable import Processes

@Suite("Files of variables")
struct EnvironmentFileTests {
    @Test(
        "Each form of a value is read as systemd reads it",
        arguments: [
            ("A=b", ["A": "b"]), ("", [:]), ("# A=b\n; A=c\n\n  A = b \t\n", ["A": "b"]), ("A=\nB=", ["A": "", "B": ""]),
            ("A=\"b c \"  \nB='d\\n\"'", ["A": "b c ", "B": "d\\n\""]), ("A=\"x\\\"\\\\\\$\\`\\n\"", ["A": "x\"\\$`\\n"]),
            ("A=b\\\nc\nB=d", ["A": "bc", "B": "d"]), ("A='one\ntwo'", ["A": "one\ntwo"]), ("A=b # no comment", ["A": "b # no comment"]),
            ("A=1\nA=2", ["A": "2"]), ("_a9=$HOME", ["_a9": "$HOME"]), ("A=\"b\"'c'd", ["A": "bcd"]), ("A=b\\ \n", ["A": "b "]),
            ("A=a=b\r\n", ["A": "a=b"]), ("A=\u{FC}", ["A": "\u{FC}"]),
        ] as [(String, [String: String])]
    )
    func values(text: String, variables: [String: String]) throws {
        #expect(try EnvironmentFile.parse(text, file: "f") == variables)
    }

    @Test(
        "A line that is none is an error with its number",
        arguments: [
            ("A=b\n\nC", "f:3: there is no `=`"), ("export A=b", "f:1: what stands before `=` isn't the name"),
            ("9=a", "f:1: what stands before `=` isn't"),
            ("A=b\nB=\"c\nd", "f:2: the quotes that begin here have no end"), ("=b", "f:1: what stands before `=` isn't"),
        ]
    )
    func errors(text: String, message: String) {
        let error = #expect(throws: ProcessError.self) { try EnvironmentFile.parse(text, file: "f") }
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
    }

    @Test("Only a file with a dash before its path may be missing, and the last file wins")
    func files() throws {
        let directory = try TemporaryDirectory()
        try Files.write("A=1\nB=1", to: directory.file("a"))
        try Files.write("A=2", to: directory.file("b"))
        let paths = [directory.file("a"), "-" + directory.file("none"), "-" + directory.file("b")]
        #expect(try EnvironmentFile.load(paths) == ["A": "2", "B": "1"])
        let error = #expect(throws: ProcessError.self) { try EnvironmentFile.load([directory.file("none")]) }
        #expect(error?.errno == ENOENT)
    }
}
