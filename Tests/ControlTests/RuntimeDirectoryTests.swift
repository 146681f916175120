import Control
import Processes
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

    @Test(
        "A running daemon is looked for where one of the user's would be, then where the system's is",
        arguments: [
            (["/x/coordinator", "/run/coordinator"], "/x/coordinator"), (["/run/coordinator"], "/run/coordinator"), ([], "/x/coordinator"),
        ]
    )
    func running(sockets: [String], found: String) throws {
        let environment = ["XDG_RUNTIME_DIR": "/x"]
        #expect(try RuntimeDirectory.find(option: nil, environment: environment) { sockets.contains($0.path) }.path == found)
        // One that is named is no other's.
        #expect(try RuntimeDirectory.find(option: "/o", environment: environment) { sockets.contains($0.path) }.path == "/o")
        let named = ["XDG_RUNTIME_DIR": "/x", "COORDINATOR_RUNTIME_DIR": "/c"]
        #expect(try RuntimeDirectory.find(option: nil, environment: named) { sockets.contains($0.path) }.path == "/c")
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
