import TestSupport
import Testing

/// Who makes, writes, renames, removes or gives away files: all that does so where another user may have a hand in the directory goes by
/// `FilePlace`, of which a test tries each use.
@Suite("Calls that change files")
struct FileCallTests {
    /// The files with such calls, and the reason why no other user has a hand in theirs.
    private static let places: [String: String] = [
        "Processes/FilePlace.swift": "it's what the others go by", "CProcess/CPlaces.c": "it's what the others go by",
        "CoordinatorDaemon/Logs/LogFile.swift": "FilePlace", "Processes/Sockets/ListeningSocket.swift": "FilePlace",
        "Processes/ControlGroup.swift": "the kernel's files",
        "CoordinatorDaemon/Logs/LogAccess.swift": "an open file", "Processes/Attributes/FileOwner.swift": "an open file",
        "coordinatord/CoordinatorDaemonCommand.swift": "/dev/null",
        // The runtime directory is `PrivateDirectory`'s.
        "CProcess/CProcess.c": "runtime directory", "Control/Server/ControlEndpoint.swift": "runtime directory",
        "Control/Server/DirectoryLock.swift": "runtime directory", "Control/Shared/UpgradeMarker.swift": "runtime directory",
        "Coordinators/Transport/LinkHub.swift": "runtime directory", "Coordinators/Transport/RuntimeFiles.swift": "runtime directory",
        "Coordinators/Runtime/ProcessJournal.swift": "runtime directory",
        "Processes/FileCalls.swift": "runtime directory, or the service's directory of state",
        "Processes/SpawnDescriptors.swift": "runtime directory", "Processes/ProcessReplacement.swift": "runtime directory",
        "CoordinatorDaemon/Daemon/StandingFile.swift": "runtime directory",
        "Processes/TemporaryPlace.swift": "in a directory of its own, whose owner it looks at through its descriptor",
        "Processes/SystemCalls.swift": "runtime directory",
        "CoordinatorsSQLite/SQLiteFlowStorage.swift": "a path that its program has chosen, as SQLite itself opens it",
        "CoordinatorsCluster/Local/EpochFile.swift": "the daemon looks at the directory with FilePlace",
    ]

    @Test("No other source has one, and each of these has one")
    func all() {
        let root = "\(Files.packageRoot)/Sources"
        let inC = Files.names(in: "\(root)/CProcess").filter { $0.hasSuffix(".c") }.map { "\(root)/CProcess/\($0)" }
        let found = (Catalogue.files(below: root) + inC).filter { file in
            (Files.text(of: file) ?? "").split(separator: "\n").contains { Self.changesFiles($0) }
        }
        #expect(Set(found.map { String($0.dropFirst(root.count + 1)) }).symmetricDifference(Self.places.keys).sorted() == [])
    }

    @Test(
        "Such a call is recognised",
        arguments: [
            ("unlink(path)", true), ("let file = open(path, O_WRONLY | O_CREAT, 0o600)", true),
            ("guard chown(path, 1, 1) == 0", true), ("// unlink(path)", false), ("buffer.truncate(to: 1)", false),
            ("open(path, O_RDONLY)", false), ("func rename(_ a: Int)", false),
        ]
    )
    func recognition(_ line: String, changes: Bool) { #expect(Self.changesFiles(line[...]) == changes) }

    private static let calls = [
        "unlink", "unlinkat", "rename", "renameat", "chmod", "fchmod", "chown", "lchown", "fchown", "mkdir", "mkdirat", "rmdir",
        "mkfifo", "mkdtemp", "mkstemp", "symlink",
    ]

    private static func changesFiles(_ line: Substring) -> Bool {
        let code = line.drop { $0 == " " }
        if code.hasPrefix("//") || code.contains("func ") || code.contains("\"chmod") { return false }
        if ["O_CREAT", "O_WRONLY", "O_RDWR"].contains(where: code.contains) { return true }
        return calls.contains { call in
            code.ranges(of: "\(call)(").contains { range in
                guard range.lowerBound > code.startIndex else { return true }
                let before = code[code.index(before: range.lowerBound)]
                return !before.isLetter && before != "_"
            }
        }
    }
}
