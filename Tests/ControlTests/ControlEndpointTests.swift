import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// The control socket in the file system: its ownership, its permissions and its removal.
@Suite(.timeLimit(minutes: 1)) struct ControlEndpointTests {
    private func failure(ofListening server: ControlServer) -> ControlError? {
        do throws(ControlError) {
            try server.listen()
            return nil
        } catch {
            return error
        }
    }

    @Test("Only the owner can use the directory, the socket and the lock")
    func theDirectoryAndTheSocketAreTheOwnersAlone() async throws {
        try await withServer { directory, server in
            #expect(Files.mode(of: directory.path) == 0o700)
            #expect(Files.mode(of: directory.controlSocket) == 0o600)
            #expect(Files.mode(of: directory.path + "/control.lock") == 0o600)
            #expect(Files.names(in: directory.path) == ["control.lock", "control.sock"])
        }
    }

    @Test("The socket is removed when the server has ended")
    func theSocketIsGoneWhenTheServerHasEnded() async throws {
        let temporary = try TemporaryDirectory()
        let directory = RuntimeDirectory(path: temporary.path)
        let server = ControlServer(path: directory.controlSocket, handler: FakeHandler())
        async let ended: Void = server.run()
        // Connecting is refused until it listens.
        try await eventually("the server answers") {
            await ControlTests.failure { () throws(ControlError) in
                try await ControlClient.connect(runtimeDirectory: directory).ping()
            } == nil
        }
        server.close()
        server.close()
        try await ended
        #expect(Files.names(in: directory.path) == ["control.lock"])
        let error = await ControlTests.failure { () throws(ControlError) in try await ControlClient.connect(runtimeDirectory: directory) }
        #expect(error?.code == .unreachable)
        #expect(
            error?.message
                == "the daemon isn't reachable at \(directory.controlSocket); start it with `coordinatord --config FILE`, "
                + "or name its runtime directory with --runtime-dir"
        )
        withExtendedLifetime(temporary) {}
    }

    @Test("A server that is closed before it runs leaves no socket")
    func aServerThatIsClosedBeforeItRunsLeavesNothing() async throws {
        let temporary = try TemporaryDirectory()
        let server = ControlServer(path: temporary.path + "/control.sock", handler: FakeHandler())
        try server.listen()
        server.close()
        try await server.run()
        #expect(Files.names(in: temporary.path) == ["control.lock"])
    }

    @Test("A second daemon is refused, and the first one keeps serving")
    func aSecondDaemonIsRefusedAndTheFirstUnharmed() async throws {
        try await withServer { directory, _ in
            let second = ControlServer(path: directory.controlSocket, handler: FakeHandler())
            let error = failure(ofListening: second)
            #expect(
                error
                    == ControlError(
                        .alreadyRunning,
                        "another daemon is running (pid \(getpid())) in \(directory.path); stop it with `coordinatorctl shutdown`, "
                            + "or name another --runtime-dir"
                    )
            )
            second.close()
            try await ControlClient.connect(runtimeDirectory: directory).ping()
        }
    }

    @Test("The socket that a killed daemon left is replaced")
    func whatADeadDaemonLeftIsReplaced() async throws {
        let temporary = try TemporaryDirectory()
        let directory = RuntimeDirectory(path: temporary.path)
        let stale = try RawSocket(listeningAt: directory.controlSocket)
        // A process that another test is just starting may have a copy of the descriptor: the socket itself has to end.
        try #require(shutdown(stale.descriptor, Int32(SHUT_RDWR)) == 0)
        stale.close()
        let server = ControlServer(path: directory.controlSocket, handler: FakeHandler())
        try server.listen()
        async let ended: Void = server.run()
        try await ControlClient.connect(runtimeDirectory: directory).ping()
        server.close()
        try await ended
        // And the lock is free again, once no child that was spawned just now has a copy of its descriptor.
        let next = ControlServer(path: directory.controlSocket, handler: FakeHandler())
        #expect(await eventually { failure(ofListening: next) == nil })
        next.close()
        withExtendedLifetime(temporary) {}
    }

    @Test("A directory that other users may write to is refused")
    func aDirectoryThatOthersMayWriteIsRefused() throws {
        let temporary = try TemporaryDirectory()
        chmod(temporary.path, 0o770)
        let error = failure(ofListening: ControlServer(path: temporary.path + "/control.sock", handler: FakeHandler()))
        #expect(
            error
                == ControlError(
                    .notPermitted,
                    "others may write to the runtime directory \(temporary.path); mend it with `chmod 700 \(temporary.path)`"
                )
        )
        #expect(Files.names(in: temporary.path) == [])
    }

    @Test("A directory whose parent is missing is refused")
    func aDirectoryWithoutAParentIsRefused() throws {
        let temporary = try TemporaryDirectory()
        let error = failure(ofListening: ControlServer(path: temporary.path + "/a/b/control.sock", handler: FakeHandler()))
        #expect(
            error
                == ControlError(
                    .failed,
                    "can't make the runtime directory \(temporary.path)/a/b: No such file or directory; make its parent, "
                        + "or name another with --runtime-dir"
                )
        )
    }

    @Test("A file in place of the directory is refused")
    func aFileInPlaceOfTheDirectoryIsRefused() throws {
        let temporary = try TemporaryDirectory()
        try Files.write("", to: temporary.file("file"))
        let error = failure(ofListening: ControlServer(path: temporary.path + "/file/control.sock", handler: FakeHandler()))
        #expect(error?.message.contains("isn't a directory") == true)
    }

    @Test("A runtime directory that is a symbolic link is refused, because the link could be replaced later")
    func symbolicLink() throws {
        let temporary = try TemporaryDirectory()
        try #require(mkdir(temporary.file("real"), 0o700) == 0)
        try #require(symlink(temporary.file("real"), temporary.file("link")) == 0)
        let error = #expect(throws: ControlError.self) { try ControlEndpoint(path: temporary.file("link/control.sock")) }
        #expect(error?.code == .notPermitted)
        #expect(error?.message.contains("is a symbolic link") == true)
        #expect(Files.names(in: temporary.file("real")).isEmpty)
    }

    /// The owner, the group and the mode of a file.
    private static func permissions(of path: String) -> [UInt32] {
        var status = stat()
        return lstat(path, &status) == 0 ? [status.st_uid, status.st_gid, status.st_mode & 0o7777] : []
    }

    @Test(
        "What systemd's reload changes of owners, groups and modes is put right, of the directory and of the same socket",
        .enabled(if: geteuid() == 0, "only root can give files away"),
        arguments: [[], [54_321], [54_321, 54_322]] as [[UInt32]]
    )
    func changedPermissions(groups: [UInt32]) async throws {
        let roles = Dictionary(uniqueKeysWithValues: groups.map { ($0, OperatorRole.operate) })
        try await withServer(groups: roles, limiting: { $0.socketCheckInterval = .milliseconds(10) }) { directory, _ in
            let (run, socket) = (directory.path, directory.controlSocket)
            #expect(Files.mode(of: socket) == (groups.isEmpty ? 0o600 : 0o660))
            let made = [run, socket].map(Self.permissions)
            let file = FileIdentity(at: socket)
            for (user, mode) in [(geteuid(), 0o600), (geteuid(), 0o666), (65_534, 0o660)] as [(UInt32, mode_t)] {
                chmod(run, 0o700)
                try #require(chown(run, geteuid(), getegid()) == 0)
                try #require(chmod(socket, mode) == 0 && chown(socket, user, getegid()) == 0)
                try await eventually("all is as it was made") { [run, socket].map(Self.permissions) == made }
            }
            #expect(FileIdentity(at: socket) == file)
            try await ControlClient.connect(runtimeDirectory: directory).ping()
        }
    }

    @Test("A directory that has let other users pass lets them pass again")
    func passage() throws {
        let temporary = try TemporaryDirectory()
        let directory = temporary.file("run")
        let endpoint = try ControlEndpoint(path: directory + "/control.sock")
        defer { endpoint.remove() }
        try endpoint.restore()
        #expect(Files.mode(of: directory) == 0o700)
        // As for the first worker of another user.
        chmod(directory, 0o711)
        try endpoint.restore()
        chmod(directory, 0o700)
        try endpoint.restore()
        #expect(Files.mode(of: directory) == 0o711)
        withExtendedLifetime(temporary) {}
    }
}
