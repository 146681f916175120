import Glibc
import TestSupport
import Testing

@testable import CoordinatorDaemon
@testable import CoordinatorsObservability
@testable import Processes

/// Files that a daemon of root writes or shows, where another user has a hand in the directory: each use with each trap.
@Suite("Files in another's directory", .enabled(if: geteuid() == 0, "only root has what another user hasn't"))
struct FilePlaceTests {
    /// What the user `nobody` has done where a file is to be.
    enum Trap: CaseIterable {
        /// Nothing: the directory is that user's.
        case none
        case link, hardLink, pipe
        /// A link in place of the file's directory, or of one above it, from the beginning or from the first use on.
        case linkedDirectory, linkedAbove, becameLink
        /// A file of that user's in a directory like `/tmp`, or a link to one.
        case squatter, squattersLink

        var isInSharedDirectory: Bool { self == .squatter || self == .squattersLink }
    }

    /// What came of a use: whether it was refused, and what was shown.
    private struct Outcome {
        var isRefused = false
        var shown = ""
    }

    /// Whether a use is refused; where it isn't, it touches nothing but what is the other user's.
    private static func mayRefuse(_ use: FilePlace.Use, _ trap: Trap) -> Bool {
        switch (use, trap) {
        // What only the daemon may write to isn't in a directory of another user, or of everybody.
        case (.runtimeDirectory, _), (.epochs, _): true
        case (_, .none): false
        // The names of links are exchanged, and nothing is opened.
        case (.formerLog, .link), (.formerLog, .hardLink), (.formerLog, .pipe), (.formerLog, .squatter), (.formerLog, .squattersLink): false
        // The other name of a dead socket gives way; a name isn't removed elsewhere.
        case (.socket, .hardLink), (.socket, .becameLink): false
        default: true
        }
    }

    /// The directory of root, whose file is called as the one that is to be used, and that of `nobody`.
    private struct Grounds {
        let (roots, theirs): (TemporaryDirectory, TemporaryDirectory)
        let use: FilePlace.Use
        let path: String
        private let trap: Trap
        private var name: String { use == .formerLog ? "app.1" : "app" }

        init(_ use: FilePlace.Use, _ trap: Trap) throws {
            (roots, theirs, self.use, self.trap) = (try TemporaryDirectory(), try TemporaryDirectory(), use, trap)
            chmod(roots.path, 0o755)
            try #require(mkdir(theirs.file("in"), 0o755) == 0)
            path = theirs.file(trap == .linkedAbove ? "above/in/app" : "in/app")
            try makeSecret()
            if use == .formerLog || ([.shownLog, .input].contains(use) && trap == .becameLink) {
                try Files.write("own\n", to: theirs.file("in/app"))
                give(theirs.file("in/app"))
            }
            try lay()
            for path in [theirs.path, theirs.file("in")] { give(path) }
            if trap.isInSharedDirectory {
                try #require(chown(theirs.file("in"), 0, 0) == 0 && chmod(theirs.file("in"), 0o1777) == 0 && chown(theirs.path, 0, 0) == 0)
                if use == .formerLog { try #require(chown(theirs.file("in/app"), 0, 0) == 0) }
            }
        }

        private func give(_ path: String) { lchown(path, AnotherUserTests.nobody, gid_t(AnotherUserTests.nobody)) }

        private func makeSecret() throws {
            try #require(mkdir(roots.file("in"), 0o755) == 0)
            let secret = roots.file("in/\(name)")
            switch use {
            case .socket: try #require(HostileInputTests.bindError(secret) == 0)
            case .runtimeDirectory: try #require(mkdir(secret, 0o755) == 0)
            default: try Files.write("secret\n", to: secret)
            }
        }

        private func lay() throws {
            let place = theirs.file("in/\(name)")
            switch trap {
            case .none, .becameLink: return
            case .link: try #require(symlink(roots.file("in/\(name)"), place) == 0)
            // A directory has one name.
            case .hardLink where use == .runtimeDirectory: return
            case .hardLink: return try #require(Glibc.link(roots.file("in/\(name)"), place) == 0)
            case .pipe: try #require(mkfifo(place, 0o666) == 0)
            case .squatter: try Files.write("theirs\n", to: place, mode: 0o666)
            case .squattersLink:
                try Files.write("theirs\n", to: theirs.file("in/mine"), mode: 0o666)
                give(theirs.file("in/mine"))
                try #require(symlink("mine", place) == 0)
            case .linkedDirectory: return try linkDirectory()
            case .linkedAbove:
                try #require(symlink(roots.path, theirs.file("above")) == 0)
                return give(theirs.file("above"))
            }
            give(place)
        }

        private func linkDirectory() throws {
            try #require(rename(theirs.file("in"), theirs.file("away")) == 0 && symlink(roots.file("in"), theirs.file("in")) == 0)
            give(theirs.file("in"))
        }

        /// What there is in the directory of root, with all that could be changed about it.
        var secrets: [String] {
            Files.names(in: roots.file("in")).map { name in
                var status = stat()
                lstat(roots.file("in/\(name)"), &status)
                return "\(name) \(status.st_ino) \(status.st_mode) \(status.st_uid) \(Files.text(of: roots.file("in/\(name)")) ?? "")"
            }
        }

        /// Uses the file twice, and lays the trap that is for a file in use in between.
        func act() throws -> Outcome {
            var outcome = Outcome()
            func attempt(_ body: () throws -> Void) {
                do { try body() } catch { outcome.isRefused = true }
            }
            func spring() throws { if trap == .becameLink { try linkDirectory() } }
            switch use {
            case .log, .formerLog:
                var file = LogFile(path: path, maximumSize: 0, keep: 2)
                defer { file.close() }
                attempt { try file.prepare() }
                if !outcome.isRefused { attempt { try file.append(Array("line\n".utf8)) } }
                try spring()
                attempt { try use == .log ? file.prepare() : file.rotate() }
                if use == .formerLog { attempt { try file.rotate() } }
            case .shownLog:
                var cursor = LogCursor(path: "/app", file: path, keep: 2)
                defer { cursor.close() }
                func show() {
                    while let next = cursor.next() {
                        switch next {
                        case .entry(let bytes, _): outcome.shown += String(decoding: bytes, as: UTF8.self)
                        case .gap(let reason): if reason.contains("isn't shown") { outcome.isRefused = true }
                        }
                    }
                }
                show()
                try spring()
                show()
            case .input:
                func read() {
                    do throws(ProcessError) {
                        let input = try InputDescriptor.open(.file(path))
                        outcome.shown += input.map { Files.text(of: "/proc/self/fd/\($0.number)") ?? "" } ?? ""
                    } catch {
                        if error.errno != ENOENT { outcome.isRefused = true }
                    }
                }
                read()
                try spring()
                read()
            case .telemetry:
                attempt { try TelemetryDestination.file(path).send([0x7B, 0x7D], defaultPath: "") }
                try spring()
                attempt { try TelemetryDestination.file(path).send([0x7B, 0x7D], defaultPath: "") }
            case .socket:
                attempt {
                    let socket = ListeningSocket.at(.path(path, mode: 0o666))
                    _ = try socket.open()
                    try spring()
                }
            case .runtimeDirectory: attempt { try PrivateDirectory.prepare(path) }
            case .epochs: attempt { try ClusterMembership.prepare(String(path.dropLast("/app".count))) }
            }
            return outcome
        }
    }

    @Test(
        "are used as that user would, or not at all: nothing of root's is written, shown, removed or given away",
        arguments: FilePlace.Use.allCases
    )
    func traps(_ use: FilePlace.Use) throws {
        for trap in Trap.allCases {
            let grounds = try Grounds(use, trap)
            let former = grounds.secrets
            let outcome = try grounds.act()
            #expect(grounds.secrets == former, "\(use), \(trap)")
            #expect(!outcome.shown.contains("secret"), "\(use), \(trap)")
            #expect(outcome.isRefused == Self.mayRefuse(use, trap), "\(use), \(trap)")
            withExtendedLifetime(grounds) {}
        }
    }

    @Test("What is made there is that user's", arguments: [FilePlace.Use.log, .telemetry, .socket])
    func owners(_ use: FilePlace.Use) throws {
        let grounds = try Grounds(use, .none)
        let socket = ListeningSocket.at(.path(grounds.path, mode: 0o660))
        if use == .socket { _ = try socket.open() } else { #expect(try !grounds.act().isRefused) }
        var status = stat()
        try #require(lstat(grounds.path, &status) == 0)
        #expect(status.st_uid == AnotherUserTests.nobody)
        let mode: UInt32 = use == .log ? 0o600 : use == .telemetry ? 0o640 : 0o660
        #expect(status.st_mode & 0o777 == mode)
    }

    @Test("Links and second names that root has made in its own directories are used as before", arguments: FilePlace.Use.allCases)
    func ownLinks(_ use: FilePlace.Use) throws {
        let directory = try TemporaryDirectory()
        try #require(mkdir(directory.file("real"), 0o700) == 0 && symlink("real/../real", directory.file("logs")) == 0)
        let (path, real) = (directory.file("logs/app"), directory.file("real/app"))
        if ![.socket, .runtimeDirectory, .epochs].contains(use) {
            try Files.write("first\n", to: directory.file("target"))
            let isMade = use == .telemetry ? Glibc.link(directory.file("target"), real) : symlink("../target", real)
            try #require(isMade == 0)
        }
        switch use {
        case .log, .formerLog:
            var file = LogFile(path: path, maximumSize: 0, keep: 1)
            try file.prepare()
            try file.append(Array("second\n".utf8))
            if use == .formerLog { try file.rotate() }
            file.close()
            #expect(Files.text(of: directory.file("target")) == "first\nsecond\n")
            #expect(Files.text(of: use == .log ? real : "\(real).1") == "first\nsecond\n")
        case .shownLog:
            var cursor = LogCursor(path: "/app", file: path, keep: 1)
            defer { cursor.close() }
            guard case .entry(let line, _)? = cursor.next() else { throw CancellationError() }
            #expect(String(decoding: line, as: UTF8.self) == "first")
        case .input:
            let input = try #require(try InputDescriptor.open(.file(path)))
            #expect(Files.text(of: "/proc/self/fd/\(input.number)") == "first\n")
        case .telemetry:
            try TelemetryDestination.file(path).send(Array("{}".utf8), defaultPath: "")
            #expect(Files.text(of: directory.file("target")) == "first\n{}\n")
        case .socket:
            let socket = ListeningSocket.at(.path(path, mode: 0o666))
            _ = try socket.open()
            #expect(Files.mode(of: real) == 0o666)
        case .epochs: try ClusterMembership.prepare(directory.file("logs"))
        case .runtimeDirectory:
            try PrivateDirectory.prepare(path)
            #expect(Files.mode(of: real) == 0o700)
        }
    }

    @Test("The standard streams and devices are files as before", arguments: ["/dev/null", "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"])
    func streams(_ path: String) throws {
        var file = LogFile(path: path, maximumSize: 0, keep: 1)
        try file.prepare()
        file.close()
    }

    @Test("An operator is told which file isn't written and shown, and the check of a configuration says so", .timeLimit(minutes: 2))
    func daemon() async throws {
        let grounds = try Grounds(.log, .link)
        let tree = """
            children:
              - name: app
                program: { command: [sh, -c, "echo line; exec sleep 1000"], user: nobody }
                logging: { file: \(grounds.path) }
            """
        let transcript = Transcript()
        try await RunningDaemon.with(tree, standardError: transcript.destination) { daemon in
            try await daemon.eventually("the log says why") { transcript.text.contains("is of root, and the user") }
            let logs = try await daemon.control("logs", "/app").output
            #expect(logs.contains("isn't shown") && !logs.contains("secret"), "\(logs)")
            let file = "\(daemon.directory)/checked.yaml"
            try Files.write(tree, to: file)
            let checked = try await RunningDaemon.coordinatord.run(["--check-config", file])
            #expect(checked.exitCode != 0 && checked.errors.contains(":4:") && checked.errors.contains("won't be written"), "\(checked)")
        }
        #expect(Files.text(of: grounds.roots.file("in/app")) == "secret\n")
    }
}
