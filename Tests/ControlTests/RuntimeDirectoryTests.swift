import Control
import Glibc
import Processes
import TestSupport
import Testing

/// The resolution of the runtime directory from the option and the environment.
@Suite struct RuntimeDirectoryTests {
    @Test(
        "The runtime directory is the option, else a variable, else /run/coordinator",
        arguments: [
            ("/o", ["COORDINATOR_RUNTIME_DIR": "/c", "XDG_RUNTIME_DIR": "/x"], "/o/control.sock"),
            (nil, ["COORDINATOR_RUNTIME_DIR": "/c", "XDG_RUNTIME_DIR": "/x"], "/c/control.sock"),
            (nil, ["COORDINATOR_RUNTIME_DIR": "", "XDG_RUNTIME_DIR": "/x"], "/x/coordinator/control.sock"),
            (nil, ["XDG_RUNTIME_DIR": "/x/"], "/x/coordinator/control.sock"),
            (nil, ["XDG_RUNTIME_DIR": "x"], "/run/coordinator/control.sock"),
            (nil, [:], "/run/coordinator/control.sock"),
            ("relative", [:], "relative/control.sock"),
        ] as [(String?, [String: String], String)]
    )
    func theSocketOf(option: String?, environment: [String: String], socket: String) throws {
        #expect(try RuntimeDirectory.resolve(option: option, environment: environment).controlSocket == socket)
    }

    typealias Look = RuntimeDirectory.SocketLook

    /// The directories in which a daemon may be, and what a look into each finds: without a session, in one of the user's own, and in one whose
    /// variable is another user's, as after su(1).
    @Test(
        "A running daemon is found wherever it's looked for from: in the user's directory, else in that of the system",
        arguments: Look.allCases
    )
    func running(system: Look) throws {
        func found(_ environment: [String: String], user: Look, option: String? = nil) throws -> String {
            try RuntimeDirectory.find(option: option, environment: environment) { directory in
                ["/x/coordinator": user, "/run/coordinator": system][directory.path] ?? .absent
            }.path
        }
        for user in Look.allCases {
            // As root, by sudo(8), as a service: there is no session, or its variable isn't a path.
            for environment: [String: String] in [[:], ["XDG_RUNTIME_DIR": ""], ["XDG_RUNTIME_DIR": "x"]] {
                #expect(try found(environment, user: user) == "/run/coordinator")
            }
            let isUsers = user == .present || system == .absent
            #expect(try found(["XDG_RUNTIME_DIR": "/x"], user: user) == (isUsers ? "/x/coordinator" : "/run/coordinator"), "\(user)")
            // One that is named is no other's.
            #expect(try found(["XDG_RUNTIME_DIR": "/x"], user: user, option: "/o") == "/o")
            #expect(try found(["XDG_RUNTIME_DIR": "/x", "COORDINATOR_RUNTIME_DIR": "/c"], user: user) == "/c")
        }
    }

    @Test("A socket that is there is found")
    func looking() throws {
        let temporary = try TemporaryDirectory()
        func found() throws -> String {
            try RuntimeDirectory.find(option: nil, environment: ["XDG_RUNTIME_DIR": temporary.path]).path
        }
        try #require(mkdir(temporary.file("coordinator"), 0o700) == 0)
        try Files.write("", to: temporary.file("coordinator/control.sock"))
        #expect(try found() == temporary.file("coordinator"))
    }

    @Test("While another program takes a daemon's place, the daemon is found though it has no socket")
    func replaced() throws {
        let temporary = try TemporaryDirectory()
        let user = RuntimeDirectory(path: temporary.file("coordinator"))
        try #require(mkdir(user.path, 0o700) == 0)
        func found() throws -> String {
            try RuntimeDirectory.find(option: nil, environment: ["XDG_RUNTIME_DIR": temporary.path]) { directory in
                directory == user ? directory.socketLook : .present
            }.path
        }
        #expect(try found() == "/run/coordinator")
        let marker = UpgradeMarker(user)
        marker.set()
        #expect(try found() == user.path)
        marker.remove()
        #expect(try found() == "/run/coordinator")
    }

    @Test("Each user who may connect can read that the daemon is being replaced, whatever the umask and the former file")
    func upgradeMarker() throws {
        let temporary = try TemporaryDirectory()
        // A file that is there keeps its mode, as a new one loses what the umask takes.
        let file = temporary.file("control.upgrade")
        try Files.write("", to: file, mode: 0o600)
        let marker = UpgradeMarker(RuntimeDirectory(path: temporary.path))
        marker.set()
        #expect(Files.mode(of: file) == 0o644)
        #expect(Files.text(of: file) == "\(getpid())\n")
        marker.remove()
        #expect(Files.mode(of: file) == nil)
    }

    @Test("A path that can't hold the control socket is refused")
    func aPathThatHoldsNoSocketIsRefused() throws {
        let longest = "/" + String(repeating: "d", count: 93)
        #expect(try RuntimeDirectory.resolve(option: longest).controlSocket.utf8.count == 107)
        for path in [longest + "d", "", "/a\u{0}b", "/" + String(repeating: "ä", count: 60)] {
            #expect(throws: ControlError.self) { try RuntimeDirectory.resolve(option: path) }
        }
        do throws(ControlError) {
            _ = try RuntimeDirectory.resolve(option: longest + "d", environment: [:])
        } catch {
            #expect(error.code == .invalidRequest)
            #expect(
                error.message
                    == "the control socket's path \(longest)d/control.sock has 108 bytes, and a Unix socket's path has at most 107; "
                    + "name a shorter runtime directory with --runtime-dir"
            )
        }
    }
}
